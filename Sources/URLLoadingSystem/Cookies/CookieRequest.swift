import Foundation
import HTTPSemantics

/// The request that cookies are found or stored for, as far as they are concerned.
struct CookieRequest: Sendable {
  var place: CookiePlace
  /// The place of the top-level document; nil where the app names none, so that the request is its own.
  var mainPlace: CookiePlace?
  /// The part of the store that the app has chosen for the request; nil for none.
  var partition: String?
  /// Whether the request, or the one that was redirected to it, is for the top-level document itself.
  var isNavigation = false
  /// Whether its method is safe (RFC 9110 §9.2.1).
  var isSafe = true

  init(_ place: CookiePlace) { self.place = place }

  /// - Parameter first: The request that redirects led here from; nil where there was none.
  /// - Returns: nil when the URL names no host.
  init?(_ request: URLRequest, first: URLRequest? = nil) {
    guard let url = request.url, let place = CookiePlace(url) else { return nil }
    self.init(place, request, firstURL: first?.url ?? url)
  }

  init(_ place: CookiePlace, _ request: URLRequest, firstURL: URL?) {
    self.place = place
    partition = request.cookiePartitionIdentifier
    isSafe = HTTPMethod.isSafe(request.httpMethod ?? "GET")
    if let main = request.mainDocumentURL {
      mainPlace = CookiePlace(main)
      isNavigation = firstURL.map { CookieRequest.isSame($0, main) } ?? false
    }
  }

  init?(_ url: URL, mainDocumentURL: URL?) {
    guard let place = CookiePlace(url) else { return nil }
    self.place = place
    mainPlace = mainDocumentURL.flatMap { CookiePlace($0) }
  }

  /// RFC 6265bis §5.2: a request without a top-level document is same-site.
  func isSameSite(_ suffixes: (any PublicSuffixes)?) -> Bool {
    mainPlace.map { $0.site(suffixes) == place.site(suffixes) } ?? true
  }

  /// The partition of cookies that are for one top-level site alone.
  func ownPartition(_ suffixes: (any PublicSuffixes)?) -> String {
    partition ?? (mainPlace ?? place).site(suffixes).text
  }

  private static func isSame(_ url: URL, _ other: URL) -> Bool {
    func plain(_ url: URL) -> Substring { url.absoluteString.prefix { $0 != "#" } }
    return plain(url) == plain(other)
  }
}

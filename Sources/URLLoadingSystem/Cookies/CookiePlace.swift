import Foundation
import HTTPSemantics

/// The place of a URL, as far as cookies are concerned: host, path, port and whether bytes are protected on the way.
struct CookiePlace: Sendable {
  /// In lower case; an IPv6 address without brackets.
  var host: String
  /// As it is sent, with its escapes and without the query. Never empty.
  var path: String
  var port: Int
  /// RFC 6265bis §5.8.3: a secure protocol. `https` and `wss` are.
  var isSecure: Bool

  init(_ target: HTTPTarget) {
    self.init(
      host: target.key.host, path: CookiePlace.path(of: target.requestTarget), port: target.key.port,
      isSecure: target.key.scheme == .https)
  }

  private init(host: String, path: String, port: Int, isSecure: Bool) {
    self.host = host
    self.path = path
    self.port = port
    self.isSecure = isSecure
  }

  /// nil for a URL that names no host.
  init?(_ url: URL) {
    if let target = HTTPTarget(text: WebSocketURL.httpText(url.absoluteString)) {
      self = CookiePlace(target)
      return
    }
    guard let host = url.host?.lowercased(), !host.isEmpty else { return nil }
    let path = url.path(percentEncoded: true)
    self.init(host: host, path: path.isEmpty ? "/" : path, port: url.port ?? 80, isSecure: false)
  }

  private static func path(of target: String) -> String {
    guard let query = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
    return String(target[..<query])
  }

  func site(_ suffixes: (any PublicSuffixes)?) -> CookieSite {
    CookieSite(host: host, isSecure: isSecure, suffixes: suffixes)
  }
}

import Foundation
import HTTPSemantics

/// The key of a stored response (RFC 9111 §2): the URL without its fragment. Only answers to GET are stored, and those
/// to a POST that stand for one.
struct CacheKey: Hashable, Sendable {
  let url: String

  /// - Parameter url: The text of a key.
  init(url: String) { self.url = url }

  /// The key of a URL: of http and https without a user, and without the scheme's own port.
  init(_ url: String) {
    if let target = HTTPTarget(text: url) {
      self.init(target)
    } else {
      self.init(url: url.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(url[..<$0]) } ?? url)
    }
  }

  init(_ target: HTTPTarget) {
    let host = target.key.host
    // The zone of an address is not sent, and tells one device from another.
    let authority =
      host.utf8.contains(UInt8(ascii: "%"))
      ? "[\(host.replacing("%", with: "%25"))]:\(target.key.port)" : target.authority
    let scheme = target.key.scheme == .https ? "https://" : "http://"
    var url = ""
    url.reserveCapacity(scheme.utf8.count + authority.utf8.count + target.requestTarget.utf8.count)
    url += scheme
    url += authority
    url += target.requestTarget
    self.url = url
  }

  /// nil for a request without a URL, and for methods that nothing stored can answer.
  init?(_ request: URLRequest) {
    // A cached answer to GET also answers HEAD (RFC 9110 §9.3.2).
    guard let url = request.url?.absoluteString, request.httpMethod ?? "GET" == "GET" || request.httpMethod == "HEAD"
    else { return nil }
    self.init(url)
  }

  /// A number that is the same in every process: FNV-1a, 64 bits. Of two URLs with the same number both are read, and
  /// compared.
  var number: Int64 {
    Int64(bitPattern: url.utf8.withContiguousStorageIfAvailable(CacheKey.number) ?? CacheKey.number(Array(url.utf8)))
  }

  private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

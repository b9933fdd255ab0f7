import Foundation
import HTTPSemantics

extension LoadCookies {
  /// The cookies of one try of a transfer: those that its request carries, for the origin that it is sent to, and those
  /// that are set on its way. They are sent with each hop and end with the try.
  ///
  /// nil where the request names a cookie twice, as it may for two paths, or very many: its field is then sent as it is.
  package init?(of request: URLRequest) {
    storage = HTTPCookieStorage()
    policy = .always
    isSending = true
    isAppsOwn = false
    guard let url = request.url, let place = CookiePlace(url) else { return }
    let pairs = request.headerFields.values("Cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
    guard pairs.count <= CookieJar.mostPerDomain else { return nil }
    var seen: Set<CookieIdentity> = []
    for pair in pairs {
      let text = String(Substring(pair)).trimmingHTTPWhitespace()
      guard !text.isEmpty else { continue }
      let equals = text.utf8.firstIndex(of: UInt8(ascii: "="))
      var contents = HTTPCookie.Contents(
        name: equals.map { String(text[..<$0]) } ?? "",
        value: equals.map { String(Substring(text.utf8[text.utf8.index(after: $0)...])) } ?? text, domain: place.host,
        path: "/")
      contents.isSecure = place.isSecure
      contents.ports = [place.port]
      let cookie = HTTPCookie(contents)
      guard seen.insert(CookieIdentity(cookie)).inserted else { return nil }
      storage.setCookie(cookie)
    }
  }
}

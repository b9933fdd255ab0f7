import Foundation
import HTTPSemantics

/// Cookie files in Netscape's format, which curl, wget and others read and write.
extension HTTPCookieStorage {
  /// Adds the cookies of such a file, those that have ended left out.
  /// - Returns: how many cookies the file has.
  @discardableResult
  package func add(netscapeFile text: String) -> Int {
    let cookies = NetscapeCookie.read(text)
    for cookie in cookies { setCookie(HTTPCookie(cookie)) }
    return cookies.count
  }

  /// All cookies as such a file.
  package var netscapeFile: String { NetscapeCookie.file((cookies ?? []).map { NetscapeCookie($0) }) }
}

extension HTTPCookie {
  fileprivate convenience init(_ cookie: NetscapeCookie) {
    var contents = Contents(
      name: cookie.name, value: cookie.value, domain: (cookie.coversSubdomains ? "." : "") + cookie.domain,
      path: cookie.path)
    contents.expires = cookie.expires.map { Date(timeIntervalSince1970: TimeInterval($0)) }
    contents.isSessionOnly = cookie.expires == nil
    contents.isSecure = cookie.isSecure
    contents.isHTTPOnly = cookie.isHTTPOnly
    self.init(contents)
  }
}

extension NetscapeCookie {
  fileprivate init(_ cookie: HTTPCookie) {
    let contents = cookie.contents
    let isDotted = contents.domain.hasPrefix(".")
    self.init(
      name: contents.name, value: contents.value,
      domain: isDotted ? String(contents.domain.dropFirst()) : contents.domain,
      coversSubdomains: isDotted, path: contents.path,
      expires: contents.expires.map { Int64(max(1, min($0.timeIntervalSince1970.rounded(), 253_402_300_799))) },
      isSecure: contents.isSecure, isHTTPOnly: contents.isHTTPOnly)
  }
}

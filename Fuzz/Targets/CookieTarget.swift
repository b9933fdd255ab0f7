import Foundation
import HTTPSemantics
import URLLoadingSystem

extension FuzzTarget {
  private static let store = HTTPCookieStorage()

  /// Set-Cookie, alone and joined; what of it is sent back.
  static let cookies = FuzzTarget("cookies") { bytes in
    let text = bytes.text
    for field in [text] + SetCookie.split(joined: text) {
      guard let cookie = SetCookie.parse(field, now: 1_000_000_000) else { continue }
      try require(
        !(cookie.name + cookie.value).isEmpty && !cookie.name.utf8.contains(UInt8(ascii: ";")),
        "a cookie named \(cookie.name)")
      try require(FieldValidation.isFieldValue(cookie.value), "the value \(cookie.value.debugDescription)")
      try require(cookie.path?.utf8.first ?? UInt8(ascii: "/") == UInt8(ascii: "/"), "the path \(cookie.path ?? "")")
      for host in ["www.example.com", "example", "127.0.0.1", "::1"] {
        guard let domain = cookie.domain,
          CookieRules.scope(domain: domain, host: host, suffixes: nil) != .refused
        else { continue }
        try require(CookieRules.domainMatches(host: host, domain: domain), "a cookie of \(host) for \(domain)")
      }
    }
    guard let url = URL(string: "https://www.example.com/a/b?c") else { return }
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": text], for: url)
    for (name, value) in HTTPCookie.requestHeaderFields(with: cookies) {
      try require(FieldValidation.isFieldValue(value), "\(name): \(value.debugDescription)")
    }
    // A cookie of another domain is made of the field, and refused by the store.
    store.setCookies(cookies, for: url, mainDocumentURL: nil)
    for cookie in NetscapeCookie.read(text) {
      try require(NetscapeCookie.read(cookie.line) == [cookie], "the line \(cookie.line.debugDescription)")
    }
    for cookie in store.cookies ?? [] {
      store.deleteCookie(cookie)
      let domain = cookie.domain.lowercased()
      try require(domain == "www.example.com" || ".www.example.com".hasSuffix(domain), "a cookie for \(domain)")
    }
    _ = CookieRules.defaultPath(of: text)
    _ = CookieRules.pathMatches(path: "/a/b", cookiePath: text)
  }
}

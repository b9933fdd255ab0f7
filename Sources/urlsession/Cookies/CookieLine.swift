import Foundation
import URLLoadingSystem

/// One cookie of a list, without its value, which may be a secret.
struct CookieLine: Encodable {
  let app: String
  let domain: String
  let path: String
  let name: String
  let expires: Date?
  let isSecure: Bool
  let isHTTPOnly: Bool
  let sameSite: String?

  init(_ cookie: HTTPCookie, of app: String) {
    self.app = app
    domain = cookie.domain
    path = cookie.path
    name = cookie.name
    expires = cookie.expiresDate
    isSecure = cookie.isSecure
    isHTTPOnly = cookie.isHTTPOnly
    sameSite = cookie.sameSitePolicy?.rawValue
  }
}

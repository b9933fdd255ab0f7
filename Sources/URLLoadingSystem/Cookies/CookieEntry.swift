import Foundation
import HTTPSemantics

/// A cookie in a store.
struct CookieEntry: Sendable {
  let cookie: HTTPCookie
  /// When the cookie was last stored.
  var stored: Date
  /// The place among all cookies by when their identity was first stored: microseconds since 1970, and one more where
  /// two would have the same.
  var order: Int64
  /// The place among all cookies of this process by when they were last sent.
  var lastUse: UInt64

  // Facts about the cookie that every look-up reads. They stand here since an array of entries is read in one pass,
  // while a cookie is an object elsewhere in memory.
  let isSecure: Bool
  let sameSite: SetCookie.SameSite?
  let hasPorts: Bool
  let pathLength: Int
  private let isForEveryPath: Bool
  private let end: TimeInterval

  init(cookie: HTTPCookie, stored: Date, order: Int64, lastUse: UInt64) {
    self.cookie = cookie
    self.stored = stored
    self.order = order
    self.lastUse = lastUse
    isSecure = cookie.contents.isSecure
    sameSite = cookie.contents.sameSite
    hasPorts = cookie.contents.ports != nil
    pathLength = cookie.contents.path.utf8.count
    isForEveryPath = cookie.contents.path == "/"
    end = cookie.contents.expires?.timeIntervalSinceReferenceDate ?? .infinity
  }

  func hasEnded(at now: Date) -> Bool { end <= now.timeIntervalSinceReferenceDate }

  /// Whether the cookie outlives its process.
  var isPersistent: Bool { end < .infinity && !cookie.contents.isSessionOnly }

  /// Whether the cookie goes along with requests for this place, whatever their site.
  func matches(_ place: CookiePlace) -> Bool {
    (place.isSecure || !isSecure)
      && (isForEveryPath || CookieRules.pathMatches(path: place.path, cookiePath: cookie.contents.path))
      && (!hasPorts || cookie.contents.ports?.contains(place.port) == true)
  }
}

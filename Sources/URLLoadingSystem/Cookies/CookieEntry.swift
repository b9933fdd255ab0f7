import Foundation

/// A cookie in a store.
struct CookieEntry: Sendable {
  var cookie: HTTPCookie
  /// When the cookie was last stored.
  var stored: Date
  /// The place among all cookies by when their identity was first stored: microseconds since 1970, and one more where
  /// two would have the same.
  var order: Int64
  /// The place among all cookies of this process by when they were last sent.
  var lastUse: UInt64

  func hasEnded(at now: Date) -> Bool { cookie.contents.expires.map { $0 <= now } ?? false }

  /// Whether the cookie outlives its process.
  var isPersistent: Bool { !cookie.contents.isSessionOnly && cookie.contents.expires != nil }
}

import Foundation

/// The cookies of a session's loads: its store, and what its configuration says of them.
package struct LoadCookies: Sendable {
  let storage: HTTPCookieStorage
  /// Wins over the policy of the store.
  let policy: HTTPCookie.AcceptPolicy
  /// Whether stored cookies are sent.
  let isSending: Bool
  /// Whether the store is a class of the app, so that its methods are asked task by task.
  let isAppsOwn: Bool

  /// nil for a session without a store.
  package init?(_ configuration: URLSessionConfiguration) {
    guard let storage = configuration.httpCookieStorage else { return nil }
    self.storage = storage
    policy = configuration.httpCookieAcceptPolicy
    isSending = configuration.httpShouldSetCookies
    isAppsOwn = type(of: storage) != HTTPCookieStorage.self
  }
}

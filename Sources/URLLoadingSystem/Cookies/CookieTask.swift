import Foundation

/// The facts about a task that decide which cookies it gets and sets.
struct CookieTask: Sendable {
  /// The policy of the task's session; nil for a task of none.
  let policy: HTTPCookie.AcceptPolicy?
  /// The task's current request; nil when its URL names no host.
  let request: CookieRequest?
  private let url: URL?

  init(_ task: URLSessionTask) {
    policy = task.cookieAcceptPolicy
    let current = task.currentRequest
    url = current?.url
    request = current.flatMap { CookieRequest($0, first: task.originalRequest) }
  }

  /// The request, when `url` is its URL.
  func request(for url: URL) -> CookieRequest? { url == self.url ? request : nil }
}

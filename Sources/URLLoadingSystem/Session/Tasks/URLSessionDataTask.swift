import Foundation

/// A task whose response body goes to the app's memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
  // Sendable by hand, and nothing to assert: no state but that of `URLSessionTask`, which is behind a lock.

  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open override class func new() -> URLSessionDataTask { URLSessionDataTask() }
}

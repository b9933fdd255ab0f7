import Foundation

/// A task whose response body goes to the app's memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open override class func new() -> URLSessionDataTask { URLSessionDataTask() }
}

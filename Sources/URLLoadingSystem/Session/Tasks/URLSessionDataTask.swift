import Foundation

/// A task whose response body goes to the app's memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A task that sends a body; its response is delivered like a data task's.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

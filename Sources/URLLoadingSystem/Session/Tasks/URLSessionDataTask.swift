import Foundation

/// A task whose response body goes to the app's memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

import Foundation

/// A task that sends a body; its response is delivered like a data task's.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
  // Sendable by hand, and nothing to assert: no state but that of `URLSessionTask`, which is behind a lock.

  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open override class func new() -> URLSessionUploadTask { URLSessionUploadTask() }

  /// Cancels the task and hands over what `uploadTask(withResumeData:)` needs to send the rest.
  ///
  /// The same data is in the error that the task ends with.
  /// - Parameter completionHandler: Called once the transfer has stopped, on no particular thread. nil when the server
  ///   has not said that it supports resumable uploads (draft-ietf-httpbis-resumable-upload), or the upload had ended.
  @preconcurrency
  open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    cancelHandingOver(to: completionHandler)
  }

  /// The `async` form of `cancel(byProducingResumeData:)`.
  open func cancelByProducingResumeData() async -> Data? {
    await withCheckedContinuation { done in cancel { done.resume(returning: $0) } }
  }
}

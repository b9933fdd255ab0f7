import Foundation

/// A task whose response body goes to a temporary file.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
  // Sendable by hand, and nothing to assert: no state but that of `URLSessionTask`, which is behind a lock.

  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open override class func new() -> URLSessionDownloadTask { URLSessionDownloadTask() }

  /// The file that the download must bring. Default nil: any.
  ///
  /// Set it before the first `resume()`; later changes are ignored. It is checked before the file counts as finished, in a
  /// background session by the transfer service. A file that is another one is removed, and the task fails with
  /// `URLError.cannotDecodeContentData`, whose sentence and `contentMismatch` say in what it differs; so it does with an
  /// answer of a status other than 200, 203 and 206. A length that the server announces is looked at before the body is
  /// received. Where the bytes are those of several answers, a background download begins once more at the first byte
  /// before it fails. Not part of Apple's API.
  open var expectedContent: ExpectedContent? {
    get { lockedState.withLock { $0.expectedContent } }
    set {
      lockedState.withLock { state in
        if case .created = state.phase { state.expectedContent = newValue }
      }
    }
  }

  /// Cancels the task and keeps what it has received for `downloadTask(withResumeData:)`.
  ///
  /// The same data is in the error that the task ends with. A download can be resumed when it is a GET over HTTP that
  /// asks for no range itself, and when the server's answer was a plain 200 that offers ranges (does not refuse them)
  /// and has a strong entity tag or a last-modified date older than itself.
  /// - Parameter completionHandler: Called once the transfer has stopped, on no particular thread. nil when the
  ///   download can't be resumed, or was already whole: its file is then delivered.
  @preconcurrency
  open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    cancelHandingOver(to: completionHandler)
  }

  /// The `async` form of `cancel(byProducingResumeData:)`.
  open func cancelByProducingResumeData() async -> Data? {
    await withCheckedContinuation { done in cancel { done.resume(returning: $0) } }
  }
}

extension URLSessionTask {
  /// Cancels the task and asks for its resume data.
  func cancelHandingOver(to receiver: @escaping @Sendable (Data?) -> Void) {
    var isOver = false
    let action = steer { state in
      let action = state.stop(handingOverTo: receiver)
      isOver = action == nil
      return action ?? .nothing
    }
    if isOver { DispatchQueue.global().async { receiver(nil) } } else { perform(action) }
  }
}

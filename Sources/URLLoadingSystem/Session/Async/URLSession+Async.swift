import Foundation

// Each call makes a task, starts it and waits for its end. Cancelling the Swift task cancels the URL task, also when
// that happens before it is started; the call then throws `URLError.cancelled`. The delegate is the task's own: it is
// asked before the session's delegate. A call goes on from the event loop; after calls of delegates it goes on from the
// delegate queue, once they have returned.
extension URLSession {
  /// Loads `request` into memory. Redirects are followed, and a status such as 404 is a response like any other.
  /// - Throws: A `URLError`; `.cancelled` when the Swift task is cancelled.
  public func data(
    for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (Data, URLResponse) {
    try await run(makeCallDataTask(request, delegate: delegate)) { .dataCall($0) }
  }

  /// Loads `url` into memory.
  /// - Throws: A `URLError`.
  public func data(
    from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (Data, URLResponse) {
    try await data(for: URLRequest(url: url), delegate: delegate)
  }

  /// Sends the file at `fileURL` as the body of `request` and loads the response into memory.
  /// - Throws: A `URLError`; before anything is sent when the file can't be read.
  public func upload(
    for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (Data, URLResponse) {
    let task = makeCallUploadTask(request, body: .file(fileURL), delegate: delegate)
    return try await run(task) { .dataCall($0) }
  }

  /// Sends `bodyData` as the body of `request` and loads the response into memory.
  /// - Throws: A `URLError`.
  public func upload(
    for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (Data, URLResponse) {
    let task = makeCallUploadTask(request, body: .data(bodyData), delegate: delegate)
    return try await run(task) { .dataCall($0) }
  }

  /// Loads `request` to a temporary file, which is the caller's from then on.
  /// - Throws: A `URLError`.
  public func download(
    for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (URL, URLResponse) {
    try await run(makeCallDownloadTask(request, delegate: delegate)) { .fileCall($0) }
  }

  /// Loads `url` to a temporary file, which is the caller's from then on.
  /// - Throws: A `URLError`.
  public func download(
    from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (URL, URLResponse) {
    try await download(for: URLRequest(url: url), delegate: delegate)
  }

  /// Goes on with an interrupted download, as `downloadTask(withResumeData:)`. The file is the caller's from then on.
  /// - Throws: A `URLError`; its `downloadTaskResumeData` goes on from where this call stopped.
  public func download(
    resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (URL, URLResponse) {
    try await run(makeCallDownloadTask(resuming: resumeData, delegate: delegate)) { .fileCall($0) }
  }

  /// The `async` form of `reset(completionHandler:)`.
  public func reset() async { await withCheckedContinuation { done in reset { done.resume() } } }

  /// The `async` form of `flush(completionHandler:)`.
  public func flush() async { await withCheckedContinuation { done in flush { done.resume() } } }

  /// The data, upload and download tasks that were resumed and have not ended.
  public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
    get async {
      await withCheckedContinuation { done in getTasksWithCompletionHandler { done.resume(returning: ($0, $1, $2)) } }
    }
  }

  /// All tasks that were resumed and have not ended.
  public var allTasks: [URLSessionTask] {
    get async { await withCheckedContinuation { done in getAllTasks { done.resume(returning: $0) } } }
  }

  private func run<Value>(
    _ task: URLSessionTask, _ recipient: (UnsafeContinuation<Value, any Error>) -> ResultRecipient
  ) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { task.start(for: recipient($0)) }
    } onCancel: {
      task.cancel()
    }
  }
}

extension URLSessionTask {
  /// Starts a task that was made for an `async` call.
  func start(for recipient: ResultRecipient) { perform(steer { $0.claim(recipient) }) }
}

// The same without a delegate, as they exist for older systems: code that names them as functions of one argument
// finds them, calls never prefer them.
extension URLSession {
  /// Loads `request` into memory.
  @_disfavoredOverload
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await data(for: request, delegate: nil)
  }

  /// Loads `url` into memory.
  @_disfavoredOverload
  public func data(from url: URL) async throws -> (Data, URLResponse) { try await data(from: url, delegate: nil) }

  /// Sends the file at `fileURL` as the body of `request`.
  @_disfavoredOverload
  public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
    try await upload(for: request, fromFile: fileURL, delegate: nil)
  }

  /// Sends `bodyData` as the body of `request`.
  @_disfavoredOverload
  public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
    try await upload(for: request, from: bodyData, delegate: nil)
  }
}

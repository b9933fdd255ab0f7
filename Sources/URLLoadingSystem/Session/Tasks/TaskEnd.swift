import Foundation

/// How the work of a task ended, on its way to the app.
///
/// The end is fixed when it is told: a task that was cancelled before tells of the cancellation, and what its work had
/// brought is removed.
struct TaskEnd: Sendable {
  let task: URLSessionTask
  let session: URLSession
  let recipient: ResultRecipient
  let received: Received
  let error: (any Error)?

  /// Tells the recipient, on the delegate queue or, for `async` calls, on the load's loop.
  func tell(to delivery: TaskDelivery?) {
    switch recipient {
    case .bytes(let feed):
      // The reader may be far behind. Until it has read the end the task can be cancelled.
      feed.end(error: error) { complete(to: nil) }
    case .delegates:
      if let delivery, let file = received.file { tellOfFile(file, to: delivery) }
      complete(to: delivery)
    case .data, .file, .dataCall, .fileCall, .unclaimed, .none: complete(to: delivery)
    }
  }

  private func tellOfFile(_ file: URL, to delivery: TaskDelivery) {
    guard let download = task as? URLSessionDownloadTask, !task.isCancelled else { return }
    delivery.perform(.didFinishDownloading) {
      $0.download?.urlSession(session, downloadTask: download, didFinishDownloadingTo: file)
    }
  }

  private func complete(to delivery: TaskDelivery?) {
    guard let completion = task.lockedState.withLock({ $0.complete(with: error) }) else { return }
    tell(completion, to: delivery)
    let delegate = task.lockedState.withLock { $0.release() }
    if delegate != nil { task.didChange(\.delegate) }
    session.forget(task.taskIdentifier)
  }

  /// Tells the recipient of a task that is completed.
  func tell(_ completion: TaskState.Completion, to delivery: TaskDelivery?) {
    task.didComplete()
    if completion.isDropped { removeFiles() }
    TaskEnd.hand((completion.error as? URLError)?.resumeData, to: completion.receivers)
    switch recipient {
    case .delegates:
      if let file = received.file { TemporaryFile.remove(file) }
      delivery?.perform(.didComplete) { [task, session] in
        $0.task?.urlSession(session, task: task, didCompleteWithError: completion.error)
      }
    case .data(let handler):
      if let error = completion.error {
        handler(nil, completion.response, error)
      } else {
        handler(received.data, completion.response, nil)
      }
    case .file(let handler):
      if let error = completion.error {
        handler(nil, completion.response, error)
      } else {
        handler(received.file, completion.response, nil)
      }
      // The app had its chance to move the file away.
      if let file = received.file { TemporaryFile.remove(file) }
    case .dataCall(let call):
      call.resume(with: completion.result { response in (received.data, response) })
    case .fileCall(let call):
      call.resume(with: completion.result { response in received.file.map { ($0, response) } })
    case .bytes, .unclaimed, .none: break
    }
    // The state of the task has its session no longer.
    guard session.events.hasConsumers else { return }
    session.events.send(completion.error.map { .failed($0) } ?? .finished, of: task)
  }

  /// Removes what the work of a cancelled task brought, or left for a later task.
  private func removeFiles() {
    if let file = received.file { TemporaryFile.remove(file) }
    if let file = (error as? URLError)?.resumeFile { TemporaryFile.remove(file) }
  }

  /// Answers `cancel(byProducingResumeData:)`, on no particular thread.
  static func hand(_ data: Data?, to receivers: [@Sendable (Data?) -> Void]) {
    guard !receivers.isEmpty else { return }
    DispatchQueue.global().async { for receiver in receivers { receiver(data) } }
  }
}

extension TaskState.Completion {
  /// - Parameter value: What the call returns; nil when the load brought something else.
  fileprivate func result<Value>(_ value: (URLResponse) -> Value?) -> Result<Value, any Error> {
    if let error { return .failure(error) }
    guard let response, let value = value(response) else {
      return .failure(ErrorMapping.make(.badServerResponse, because: "The load ended without a response."))
    }
    return .success(value)
  }
}

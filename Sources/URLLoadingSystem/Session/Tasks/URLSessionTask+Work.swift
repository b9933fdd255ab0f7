import Foundation

extension URLSessionTask {
  /// Does what the state machine decided, after its lock was released.
  func perform(_ action: TaskState.Action) {
    switch action {
    case .nothing: break
    case .begin(let session): begin(in: session)
    case .steer(let work): work.suspensionChanged(of: self)
    case .cancel(let work): work.cancel(self)
    case .endUnstarted: endUnstarted()
    }
  }

  private func begin(in session: URLSession) {
    guard session.registry.hold(self) else {
      // The session had been invalidated when the task was made.
      finish(.failure(session.invalidityError), delivery: session.makeDelivery(for: self), transactions: [])
      return
    }
    let work = session.engine.makeWork(for: self, in: session)
    let action = lockedState.withLock { $0.attach(work) }
    work.begin(self)
    perform(action)
  }

  private func endUnstarted() {
    guard let session = lockedState.withLock({ $0.session }) else { return }
    session.engine.abandoned(self)
    var error = ErrorMapping.cancelled
    let state = lockedState.withLock { (resumption: $0.resumption, isKept: $0.wantsResumeData) }
    // Nothing was touched yet: what this task was to go on with, another still can.
    switch state.isKept ? state.resumption : nil {
    case .download(let data): error = error.adding(data.encoded(), forKey: NSURLSessionDownloadTaskResumeData)
    case .upload(let data): error = error.adding(data.encoded(), forKey: NSURLSessionUploadTaskResumeData)
    case .broken, nil: break
    }
    finish(.failure(error), delivery: session.makeDelivery(for: self), transactions: [])
  }

  // Read for the library's own use, unlike the properties that apps read.
  var presentRequest: URLRequest? { lockedState.withLock { $0.changedRequest ?? $0.originalRequest } }
  var presentState: State { lockedState.withLock { $0.publicState } }
  var presentPriority: Float { lockedState.withLock { $0.priority } }
  var isSuspended: Bool { lockedState.withLock { $0.isSuspended } }

  /// Ends the task: metrics, then how it ended, to whoever is to know. Only the first end counts.
  func finish(_ result: Result<Received, any Error>, delivery: TaskDelivery?, transactions: [TransactionRecord]) {
    var error: URLError?
    var received = Received.nothing
    switch result {
    case .success(let value): received = value
    case .failure(let failure): error = ErrorMapping.urlError(failure, url: presentRequest?.url)
    }
    let (ended, session, response, receivers) = lockedState.withLock { state in
      let receivers = state.resumeDataReceivers
      state.resumeDataReceivers = []
      return (state.complete(error: error), state.session, state.response, receivers)
    }
    guard let outcome = ended, let session else { return }
    willEnd(with: error)
    if !receivers.isEmpty {
      let data = error?.resumeData
      DispatchQueue.global().async { for receiver in receivers { receiver(data) } }
    }
    if watchers.load(ordering: .acquiring) != 0 {
      countersChanged()
      didChange(\.error)
      didChange(\.state)
    }
    if let delivery, delivery.mayBeImplemented(.metrics) {
      delivery.postMetrics(of: self, transactions: transactions)
    }
    let report = TaskEnd(
      task: self, session: session, outcome: outcome, response: response, received: received, error: error)
    if let delivery, delivery.hasPosted || !outcome.isCall {
      delivery.end { report.deliver(to: delivery) }
    } else if outcome.isCall {
      delivery?.close()
      report.deliver(to: nil)
    } else {
      session.laneForTask().append { report.deliver(to: nil) }
    }
  }
}

/// How a task ended, told once to whoever asked for the task.
struct TaskEnd: Sendable {
  let task: URLSessionTask
  let session: URLSession
  let outcome: TaskOutcome
  let response: URLResponse?
  let received: Received
  let error: URLError?

  func deliver(to delivery: TaskDelivery?) {
    switch outcome {
    case .delegates: tellDelegates(delivery)
    case .data(let handler):
      if let error { handler(nil, response, error) } else { handler(data, response, nil) }
    case .file(let handler):
      if let error { handler(nil, response, error) } else { handler(file, response, nil) }
      removeLeftFile()
    case .dataCall(let call):
      if let error {
        call.resume(throwing: error)
      } else if let response {
        call.resume(returning: (data, response))
      } else {
        call.resume(throwing: URLError(.badServerResponse))
      }
    case .fileCall(let call):
      if let error {
        call.resume(throwing: error)
      } else if let response, let file {
        call.resume(returning: (file, response))
      } else {
        call.resume(throwing: URLError(.badServerResponse))
      }
    case .bytes(let feed): feed.end(error: error)
    case .unclaimed, .reported: break
    }
    let hadDelegate = task.lockedState.withLock { state in
      defer { (state.delegate, state.session) = (nil, nil) }
      return state.delegate != nil
    }
    if hadDelegate { task.didChange(\.delegate) }
    session.forget(task.taskIdentifier)
  }

  private var data: Data { if case .data(let data) = received { data } else { Data() } }
  private var file: URL? { if case .file(let url) = received { url } else { nil } }

  private func tellDelegates(_ delivery: TaskDelivery?) {
    guard let delivery else { return removeLeftFile() }
    if let file, let download = task as? URLSessionDownloadTask {
      delivery.perform(.didFinishDownloading) {
        $0.download?.urlSession(session, downloadTask: download, didFinishDownloadingTo: file)
      }
    }
    removeLeftFile()
    delivery.perform(.didComplete) { $0.task?.urlSession(session, task: task, didCompleteWithError: error) }
  }

  /// The app had its chance to move the file away.
  private func removeLeftFile() {
    guard let file else { return }
    TemporaryFile.remove(file)
  }
}

extension TaskOutcome {
  /// True for `async` calls, which go on without the delegate queue.
  var isCall: Bool {
    switch self {
    case .dataCall, .fileCall, .bytes: true
    case .delegates, .data, .file, .unclaimed, .reported: false
    }
  }
}

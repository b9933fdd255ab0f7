import Foundation
import HTTPTransport
import TransferProtocol

extension URLSessionTask {
  /// Does what the state machine decided, after its lock was released.
  func perform(_ action: TaskState.Action) {
    switch action {
    case .nothing: break
    case .begin(let start): begin(start)
    case .steer(let work): work.suspensionChanged(of: self)
    case .cancel(let work, let feed):
      work?.cancel(self)
      feed?.cancel(with: ErrorMapping.urlError(ErrorMapping.cancelled, url: presentRequest?.url))
    case .cancelSuccessor(let task): task.cancel()
    case .stopSuccessor(let task, let receiver): task.cancelHandingOver(to: receiver)
    case .endUnstarted: endUnstarted()
    }
  }

  private func begin(_ start: TaskStart) {
    let session = start.session
    guard session.registry.hold(self) else {
      // The session had been invalidated when the task was made.
      finish(.failure(session.invalidityError), delivery: session.makeDelivery(for: self), transactions: [])
      return
    }
    let work = session.engine.makeWork(for: self, from: start)
    let (action, hasNewHints) = lockedState.withLock { state in
      (
        state.attach(work),
        state.priority != start.priority || state.taskDescription != start.taskDescription
          || state.earliestBeginDate != start.earliestBeginDate
      )
    }
    if session.events.hasConsumers { hasConsumers() }
    work.begin(self)
    if hasNewHints { work.hintsChanged(of: self) }
    perform(action)
  }

  private func endUnstarted() {
    let state = lockedState.withLock { state in
      (session: state.session, resumption: state.wantsResumeData ? state.resumption : nil)
    }
    guard let session = state.session else { return }
    session.engine.abandoned(self)
    var error = ErrorMapping.cancelled
    // Nothing was touched yet: what this task was to go on with, another still can.
    switch state.resumption {
    case .download(let data): error = error.adding(data.encoded(), forKey: NSURLSessionDownloadTaskResumeData)
    case .upload(let data): error = error.adding(data.encoded(), forKey: NSURLSessionUploadTaskResumeData)
    case .broken, nil: break
    }
    finish(.failure(error), delivery: session.makeDelivery(for: self), transactions: [])
  }

  /// The work is over: metrics, then the task's end, are told. Only the first call counts.
  ///
  /// With nothing to be told before it the result of an `async` call is handed over at once. Everything else is told
  /// on the delegate queue, and a cancellation until then still counts.
  ///
  /// - Parameters:
  ///   - told: the transactions that took place in the transfer service.
  ///   - loop: the loop that this is called on, if it is one.
  func finish(
    _ result: Result<Received, any Error>, delivery: TaskDelivery?, transactions: [TransactionRecord],
    told: [TransactionDescription] = [], from loop: LoopExecutor? = nil
  ) {
    var error: (any Error)?
    var received = Received.nothing
    switch result {
    case .success(let value): received = value
    case .failure(let failure): error = ErrorMapping.taskError(failure, url: presentRequest?.url)
    }
    let hasMetrics = delivery?.mayBeImplemented(.metrics) ?? false
    let mayTellAtOnce = !hasMetrics && delivery?.hasPosted != true
    let ended = lockedState.withLock { $0.workEnded(with: error, mayTellAtOnce: mayTellAtOnce) }
    guard let ended else { return }
    willEnd(with: error as? URLError)
    TaskEnd.hand((error as? URLError)?.resumeData, to: ended.receivers)
    let end = TaskEnd(
      task: self, session: ended.session, recipient: ended.recipient, received: received, error: error)
    if let completion = ended.completion {
      delivery?.close()
      end.tell(completion, to: nil)
      return ended.session.forget(taskIdentifier)
    }
    if let delivery, hasMetrics { delivery.postMetrics(of: self, transactions: transactions, told: told) }
    if let delivery, delivery.hasPosted || !ended.recipient.isCall {
      delivery.end { end.tell(to: delivery) }
    } else if ended.recipient.isCall {
      delivery?.close()
      end.tell(to: nil)
    } else {
      ended.session.lane(for: self).append({ end.tell(to: nil) }, from: loop)
    }
  }
}

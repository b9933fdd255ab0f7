import Foundation
import TransferProtocol

/// One task of a background session, on the app's side: what the service was told and what it has told us.
/// Everything but the calls of `TaskWork` is confined to the engine's loop.
final class BackgroundWork: TaskWork, @unchecked Sendable {
  let engine: BackgroundEngine
  let task: URLSessionTask
  let token: String
  /// Whether the service has acknowledged that it has the task.
  var isCreated = false
  /// What the service was last told of the hints that the app may change at any time; nil before it was told any.
  var toldHints: Hints?
  /// The events of this task that are to be acknowledged once the app has handled them.
  var sequences: [Int64] = []
  var finishedFile: URL?
  /// Where the delegate was last told that the bytes go on, as long as none have come since.
  var lastResumption: Int64?
  /// The service was asked for what a later download needs, and has not answered.
  var awaitsResumePoint = false
  /// How the task ended while that was awaited.
  var pendingEnd: Result<Received, any Error>?
  var resumeData: Data?
  private(set) lazy var delivery = task.lockedState.withLock { $0.session }?.makeDelivery(for: task)

  init(engine: BackgroundEngine, task: URLSessionTask, token: String) {
    self.engine = engine
    self.task = task
    self.token = token
  }

  func begin(_ task: URLSessionTask) { engine.onLoop { $0.create(self) } }

  func suspensionChanged(of task: URLSessionTask) { engine.onLoop { $0.steer(self) } }

  func hintsChanged(of task: URLSessionTask) { engine.onLoop { $0.tellHints(self) } }

  func cancel(_ task: URLSessionTask) { engine.onLoop { $0.cancel(self) } }

  struct Hints: Equatable {
    var taskDescription: String?
    var priority: Float
  }

  var hints: Hints {
    task.lockedState.withLock { Hints(taskDescription: $0.taskDescription, priority: $0.priority) }
  }

  /// The task as the service is told of it.
  func description() -> TransferDescription? {
    guard let request = task.originalRequest else { return nil }
    var description = TransferDescription(
      token: token, taskIdentifier: task.taskIdentifier, request: RequestDescription(request))
    task.lockedState.withLock { state in
      description.taskDescription = state.taskDescription
      description.priority = state.priority
      description.earliestBeginDate = state.earliestBeginDate
      description.countOfBytesClientExpectsToSend = state.countOfBytesClientExpectsToSend
      description.countOfBytesClientExpectsToReceive = state.countOfBytesClientExpectsToReceive
    }
    description.startsImmediately = !task.isSuspended
    if case .download(let data) = task.resumption {
      description.resumePoint = data.resumePoint
    }
    return description
  }

  /// Brings the task's counters to what the service knows.
  func adopt(received: Int64, expected: Int64) {
    task.bytesReceived.store(received, ordering: .relaxed)
    task.bytesExpectedToReceive.store(expected, ordering: .relaxed)
    task.countersChanged()
  }

  func adopt(_ response: ResponseSummary?) {
    guard let response = response?.urlResponse else { return }
    task.noteResponse(response)
  }
}

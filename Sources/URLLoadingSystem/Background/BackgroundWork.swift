import Foundation
import HTTPSemantics
import NIOCore
import SystemServices
import TransferProtocol

/// One task of a background session, on the app's side. `TaskWork` may be called from any thread; everything else is
/// confined to the engine's loop, and so is `state`, which asserts it.
final class BackgroundWork: TaskWork, Sendable {
  struct State {
    /// The events of this task that are to be acknowledged once the app has handled them.
    var sequences: [Int64] = []
    var finishedFile: URL?
    /// The requests that the service made for the task, as far as it tells them.
    var transactions: [TransactionDescription] = []
    /// The file of an upload, from the time that it is opened for the service until that has answered: the app's connection
    /// may end, and the file is passed again over the next one.
    var source: SourceFile?
    /// The cookies that the request carries; nil for none.
    var cookieField: String?
    /// The offset of the last `didResumeAtOffset` call, as long as no bytes have come since.
    var lastResumption: Int64?
    /// Ends the questions that the delegate has not answered, by the service's numbers.
    var questions: [UInt64: LoadControl] = [:]
    /// The service's number of the task; nil until it has the task.
    var transfer: Int64?
    /// Requests in the place of the present one, in the order in which the app gave them.
    var replacements: [RequestReplacement] = []
    /// The change that the service is told for the first of them.
    var edit: EditTransfer?
    /// The end is on its way to the app, or the session has ended.
    var isOver = false
    fileprivate var resumePoint = ResumePointAnswer.notAsked
    /// nil before it is first needed.
    fileprivate var delivery: TaskDelivery??
  }

  /// The answer to a cancellation that asks for resume data.
  fileprivate enum ResumePointAnswer {
    case notAsked
    /// The service was asked and has not answered.
    case awaited(end: Result<Received, any Error>?)
    case settled(Data?)
  }

  let engine: BackgroundEngine
  let task: URLSessionTask
  let token: String
  private let box: NIOLoopBoundBox<State>

  var state: State {
    get { box.value }
    _modify { yield &box.value }
  }

  init(engine: BackgroundEngine, task: URLSessionTask, token: String) {
    self.engine = engine
    self.task = task
    self.token = token
    box = .makeBoxSendingValue(State(), eventLoop: engine.executor.loop)
  }

  // MARK: TaskWork, from any thread

  func begin(_ task: URLSessionTask) {
    let field = engine.cookies?.field(for: task)
    engine.onLoop { engine in
      self.state.cookieField = field
      engine.arrived(.task(self))
    }
  }

  func suspensionChanged(of task: URLSessionTask) {
    let tellsSuspension = task.isSuspended && task.reasonForWaiting?.kind == .setAside
    engine.onLoop { $0.changed(self, tellsSuspension: tellsSuspension) }
  }

  func hintsChanged(of task: URLSessionTask) { engine.onLoop { $0.changed(self) } }

  func cancel(_ task: URLSessionTask) { engine.onLoop { $0.changed(self) } }

  // MARK: What the service is told

  /// How the app wants the task now.
  var wanted: WantedTask {
    let edit = state.edit
    return task.lockedState.withLock { state in
      var wanted = WantedTask(isSuspended: state.isSuspended, hints: TaskHints(state))
      if state.phase == .canceling {
        wanted.cancellation = state.isAskedForResumeData ? .producingResumePoint : .plain
      }
      wanted.edit = edit
      return wanted
    }
  }

  /// About how many bytes the task takes in a message.
  var weight: Int {
    (task.handedRequest?.estimatedMessageLength ?? 0)
      + task.lockedState.withLock { ($0.taskDescription?.utf8.count ?? 0) * 2 }
  }

  /// The file that the service is passed; nil for other tasks.
  var fileToSend: URL? {
    guard task is URLSessionUploadTask, case .file(let url) = task.requestBody else { return nil }
    return url
  }

  /// The task as the service is told of it.
  func description(_ wanted: WantedTask) -> TransferDescription? {
    guard let request = task.handedRequest else { return nil }
    var description = TransferDescription(
      token: token, taskIdentifier: task.taskIdentifier, request: self.description(of: request))
    task.lockedState.withLock { state in
      description.encode(state)
      if case .download(let data) = state.resumption { description.resumePoint = data.resumePoint }
    }
    description.encodeKind(of: task)
    wanted.hints.write(to: &description)
    description.startsImmediately = !wanted.isSuspended
    return description
  }

  /// The task's request, or one in its place, as the service is told of it: with the cookies that were found when the task
  /// was resumed, where it is for the same origin.
  func description(of request: URLRequest) -> RequestDescription {
    var request = request
    if let field = state.cookieField, let origin = request.origin, origin == task.originalRequest?.origin {
      request.setValue(field, forHTTPHeaderField: "Cookie")
    }
    return RequestDescription(request)
  }

  // MARK: What the app is told

  /// nil when the session has no delegate.
  var delivery: TaskDelivery? {
    if let delivery = state.delivery { return delivery }
    let delivery = task.lockedState.withLock { $0.session }?.makeDelivery(for: task)
    state.delivery = .some(delivery)
    return delivery
  }

  /// Brings the task's counters to what the service knows.
  func adopt(received: Int64, expected: Int64) {
    task.bytesReceived.store(received, ordering: .relaxed)
    task.bytesExpectedToReceive.store(expected, ordering: .relaxed)
    task.countersChanged()
  }

  /// - Parameter sent: nil leaves the counters as they are.
  func adopt(sent: Int64?, expected: Int64?) {
    guard let sent else { return }
    task.bytesSent.store(sent, ordering: .relaxed)
    if let expected, expected >= 0 { task.bytesExpectedToSend.store(expected, ordering: .relaxed) }
    task.countersChanged()
  }

  func adopt(_ response: ResponseSummary?) {
    guard let response = response?.urlResponse else { return }
    task.noteResponse(response)
  }

  // MARK: Resume data

  var resumeDataKey: String {
    task is URLSessionUploadTask ? NSURLSessionUploadTaskResumeData : NSURLSessionDownloadTaskResumeData
  }

  var resumeData: Data? { if case .settled(let data) = state.resumePoint { data } else { nil } }

  func awaitResumePoint() {
    if case .awaited = state.resumePoint { return }
    state.resumePoint = .awaited(end: nil)
  }

  /// Keeps the end of the task, and returns true, while the resume data is awaited.
  func holdsEnd(_ end: Result<Received, any Error>) -> Bool {
    guard case .awaited = state.resumePoint else { return false }
    state.resumePoint = .awaited(end: end)
    return true
  }

  /// Returns the end that has waited.
  func settleResumePoint(_ data: Data?) -> Result<Received, any Error>? {
    guard case .awaited(let end) = state.resumePoint else { return nil }
    state.resumePoint = .settled(data)
    return end
  }
}

extension URLRequest {
  fileprivate var origin: HTTPOrigin? { (url?.absoluteString).flatMap { HTTPOrigin(URIReference($0)) } }
}

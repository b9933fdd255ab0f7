import Foundation
import Observation

/// Everything about a task that changes, behind one lock.
///
/// Theory of operation. A task is `created` with one suspension. `resume` takes suspensions away and the one that
/// takes the last away starts the work, once. From then on suspending and resuming only steer the work. `cancel` moves
/// a created task straight to its end and asks started work to stop. The work ends once (`workEnded`); what it brought
/// is then on its way to the app. The task is completed when the app is told (`complete`). A cancellation counts until
/// then, so a task that was cancelled never reports success, whatever its work had brought:
///
///     created ──resume──▶ started ──────complete──▶ completed
///        │                   │cancel                    ▲
///        └─────cancel──▶ canceling ──────complete───────┘
struct TaskState {
  enum Phase: Sendable { case created, started, canceling, completed }

  /// The action of the caller after the lock is released.
  enum Action {
    case nothing
    /// Make the work and give it to `attach`.
    case begin(TaskStart)
    /// Tell the work that the task's suspension changed.
    case steer(any TaskWork)
    /// Stop the work, unless it has ended, and let the reader of the bytes have no more of them.
    case cancel((any TaskWork)?, AsyncBytesFeed?)
    /// Another task goes on with the work: that one is to be cancelled.
    case cancelSuccessor(URLSessionTask)
    /// The same, and its resume data is asked for.
    case stopSuccessor(URLSessionTask, @Sendable (Data?) -> Void)
    /// The task was never started: end it as cancelled.
    case endUnstarted
  }

  private(set) var phase = Phase.created
  private(set) var suspensions = 1
  private(set) var work: (any TaskWork)?
  /// The work is over, and the app was not told of it yet.
  private(set) var hasWorkEnded = false
  /// The app called `cancel()`: whatever the work brings, the task ends with that.
  private(set) var isCancelled = false
  /// Resume data was asked for, and given, when the work ended.
  private var hasHandedOver = false
  var session: URLSession?
  private(set) var recipient: ResultRecipient
  var originalRequest: URLRequest?
  /// nil while it is the original request.
  var changedRequest: URLRequest?
  var response: URLResponse?
  private(set) var error: (any Error)?
  var delegate: (any URLSessionTaskDelegate)?
  /// The lane of this task's calls; nil for the session's delegate queue.
  var ownLane: DeliveryLane?
  var taskDescription: String?
  var priority: Float = URLSessionTask.defaultPriority
  var earliestBeginDate: Date?
  var prefersIncrementalDelivery = true
  var countOfBytesClientExpectsToSend = NSURLSessionTransferSizeUnknown
  var countOfBytesClientExpectsToReceive = NSURLSessionTransferSizeUnknown
  var progress: Progress?
  /// One of the suspensions is the progress object's.
  var isPausedByProgress = false
  /// While a thread is making the progress object show what the app did to the task.
  var isMirroring = false
  /// Tells observers of changes; made when the app first reads a property.
  var registrar: ObservationRegistrar?
  var resumption: Resumption?
  var expectedContent: ExpectedContent?
  var transferRetryPolicy: TransferRetryPolicy?
  var transferBandwidthLimit: Int64?
  var transferBandwidthHours: [TransferBandwidthHours] = []
  /// Why the transfer service does not run the task.
  var waitingReason: TransferWaitingReason?
  /// Handlers that wait for what a later task can go on with.
  private var resumeDataReceivers: [@Sendable (Data?) -> Void] = []
  /// The task that goes on with the work, until the delegate knows of it.
  private var successor: URLSessionTask?

  init(session: URLSession?, request: URLRequest?, recipient: ResultRecipient) {
    self.session = session
    self.recipient = recipient
    originalRequest = request
  }

  var isSuspended: Bool { suspensions > 0 }

  var publicState: URLSessionTask.State {
    switch phase {
    case .completed: .completed
    case .canceling: .canceling
    case .created, .started: isSuspended ? .suspended : .running
    }
  }

  // MARK: Control

  mutating func resume() -> Action {
    guard suspensions > 0 else { return .nothing }
    // Only the call that the task was made for starts it.
    if suspensions == 1, case .unclaimed = recipient { return .nothing }
    suspensions -= 1
    guard suspensions == 0 else { return .nothing }
    switch phase {
    case .created:
      guard let session else { return .nothing }
      phase = .started
      return .begin(start(in: session))
    case .started, .canceling: return work.map { .steer($0) } ?? .nothing
    case .completed: return .nothing
    }
  }

  func start(in session: URLSession) -> TaskStart {
    TaskStart(
      session: session, request: originalRequest, recipient: recipient, delegate: delegate, resumption: resumption,
      earliestBeginDate: earliestBeginDate, priority: priority, taskDescription: taskDescription,
      expectedContent: expectedContent)
  }

  mutating func suspend() -> Action {
    guard phase != .completed else { return .nothing }
    suspensions += 1
    guard suspensions == 1, let work else { return .nothing }
    return .steer(work)
  }

  mutating func cancel() -> Action {
    switch phase {
    case .created, .started: isCancelled = true
    case .canceling:
      // A WebSocket that is being closed with a code need not be: it is to end now. Resume data is on its way.
      guard !isCancelled, resumeDataReceivers.isEmpty, let work else { return .nothing }
      isCancelled = true
      return .cancel(work, recipient.feed)
    case .completed: break
    }
    return stop()
  }

  /// As `cancel`, but the work's own end counts: it says how the task ended.
  mutating func stop() -> Action {
    switch phase {
    case .created:
      phase = .canceling
      // No call waits yet for a task behind an `async` call; `claim` finds it canceling.
      if case .unclaimed = recipient { return .nothing }
      return .endUnstarted
    case .started:
      phase = .canceling
      return .cancel(work, recipient.feed)
    case .completed: return successor.map { .cancelSuccessor($0) } ?? .nothing
    case .canceling: return .nothing
    }
  }

  /// As `stop`, and hands over what a later task can go on with. nil when the task is over.
  mutating func stop(handingOverTo receiver: @escaping @Sendable (Data?) -> Void) -> Action? {
    if phase == .completed, let successor { return .stopSuccessor(successor, receiver) }
    guard phase != .completed, session != nil else { return nil }
    resumeDataReceivers.append(receiver)
    // The result of the work is whole: there is nothing to stop, and the receiver is told with the end.
    return hasWorkEnded ? .nothing : stop()
  }

  /// Whether what was received is to be kept when the work fails now: a plain `cancel()` gives it up.
  var wantsResumeData: Bool { phase != .canceling || !resumeDataReceivers.isEmpty }

  /// Whether the work, which is asked to stop, is to leave resume data.
  var isAskedForResumeData: Bool { !resumeDataReceivers.isEmpty }

  // MARK: Work

  /// An `async` call takes a suspended task over and starts it.
  mutating func claim(_ recipient: ResultRecipient) -> Action {
    self.recipient = recipient
    if phase == .canceling { return .endUnstarted }
    return resume()
  }

  /// The work exists now. Returns what was asked of the task before it did.
  mutating func attach(_ work: any TaskWork) -> Action {
    self.work = work
    if phase == .canceling { return .cancel(work, recipient.feed) }
    return suspensions > 0 ? .steer(work) : .nothing
  }

  /// Another task goes on with the work; this one is over, and reports nothing.
  mutating func handOver(to next: URLSessionTask?) {
    phase = .completed
    suspensions = 0
    work = nil
    recipient = .none
    successor = next
    (session, delegate) = (nil, nil)
  }

  /// The delegate knows of the task that goes on with the work.
  mutating func forgetSuccessor() { successor = nil }

  /// Goes on with the work of a task that was in `old`: with what the app set, and what is known of the load.
  mutating func take(over work: any TaskWork, from old: TaskState) {
    changedRequest = old.changedRequest
    response = old.response
    delegate = old.delegate
    taskDescription = old.taskDescription
    priority = old.priority
    earliestBeginDate = old.earliestBeginDate
    transferRetryPolicy = old.transferRetryPolicy
    transferBandwidthLimit = old.transferBandwidthLimit
    transferBandwidthHours = old.transferBandwidthHours
    countOfBytesClientExpectsToSend = old.countOfBytesClientExpectsToSend
    countOfBytesClientExpectsToReceive = old.countOfBytesClientExpectsToReceive
    adopt(work, suspensions: old.suspensions)
  }

  /// The suspensions and cancellations of the old task until this one took its place: the work knows of them.
  /// - Parameter known: The old task as it was when this one took its work.
  mutating func catchUp(with old: TaskState, since known: TaskState) {
    suspensions += old.suspensions - known.suspensions
    resumeDataReceivers += old.resumeDataReceivers
    isCancelled = isCancelled || old.isCancelled
    if old.phase == .canceling { phase = .canceling }
  }

  /// The work was begun by another task, or by an earlier process.
  mutating func adopt(_ work: any TaskWork, suspensions: Int) {
    self.work = work
    self.suspensions = suspensions
    phase = .started
  }

  /// The end will not be told: the task has turned into something else.
  mutating func silence() { recipient = .none }

  // MARK: The end

  /// The action once the work is over.
  struct WorkEnd {
    let session: URLSession
    let recipient: ResultRecipient
    /// Handlers that asked for resume data while the work went on.
    let receivers: [@Sendable (Data?) -> Void]
    /// Set when the end is told at once.
    let completion: Completion?
  }

  /// How a task ended.
  struct Completion {
    let error: (any Error)?
    let response: URLResponse?
    /// The result of the work is not given to the app.
    let isDropped: Bool
    /// Handlers that asked for resume data after the work had ended.
    let receivers: [@Sendable (Data?) -> Void]
    /// Released outside the lock, since it may be the last reference.
    let delegate: (any URLSessionTaskDelegate)?
  }

  /// The work is over. nil when it was over already.
  /// - Parameter mayTellAtOnce: Whether no event waits to be told before the end.
  mutating func workEnded(with error: (any Error)?, mayTellAtOnce: Bool) -> WorkEnd? {
    guard phase != .completed, !hasWorkEnded, let session else { return nil }
    hasWorkEnded = true
    work = nil
    let receivers = resumeDataReceivers
    resumeDataReceivers = []
    hasHandedOver = !receivers.isEmpty
    let recipient = self.recipient
    var completion: Completion?
    if mayTellAtOnce, recipient.isCall, recipient.feed == nil {
      completion = complete(with: error)
      release()
    }
    return WorkEnd(session: session, recipient: recipient, receivers: receivers, completion: completion)
  }

  /// The app is about to be told of the end. nil when it was told already.
  /// - Parameter error: How the work ended.
  mutating func complete(with error: (any Error)?) -> Completion? {
    guard phase != .completed else { return nil }
    phase = .completed
    suspensions = 0
    var (error, isDropped) = (error, false)
    let failure = error as? URLError
    if isCancelled, failure?.code != .cancelled {
      isDropped = !hasHandedOver
      let key =
        failure?.downloadTaskResumeData == nil ? NSURLSessionUploadTaskResumeData : NSURLSessionDownloadTaskResumeData
      let data = hasHandedOver ? failure?.resumeData : nil
      error = ErrorMapping.urlError(ErrorMapping.cancelled, url: (changedRequest ?? originalRequest)?.url)
        .adding(data, forKey: key)
    }
    self.error = error
    recipient = .none
    let receivers = resumeDataReceivers
    resumeDataReceivers = []
    return Completion(
      error: error, response: response, isDropped: isDropped, receivers: receivers, delegate: delegate)
  }

  /// The app was told of the end. Returns the delegate, to be released outside the lock.
  @discardableResult
  mutating func release() -> (any URLSessionTaskDelegate)? {
    defer { (delegate, session) = (nil, nil) }
    return delegate
  }
}

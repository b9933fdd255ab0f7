import Foundation
import Observation

/// Everything about a task that changes, behind one lock.
///
/// Theory of operation. A task is `created` with one suspension. `resume` takes suspensions away and the one that
/// takes the last away starts the work, once. From then on suspending and resuming only steer the work. `cancel` moves
/// a created task straight to its end and asks started work to stop; whichever comes first, the work's own end or the
/// cancellation, the task ends exactly once:
///
///     created ──resume──▶ started ──end──▶ completed
///        │                   │cancel           ▲
///        └─────cancel──▶ canceling ────end─────┘
struct TaskState {
  enum Phase: Sendable { case created, started, canceling, completed }

  /// What the caller must do after the lock is released.
  enum Action {
    case nothing
    /// Make the work and give it to `attach`.
    case begin(URLSession)
    /// Tell the work that the task's suspension changed.
    case steer(any TaskWork)
    case cancel(any TaskWork)
    /// The task was never started: end it as cancelled.
    case endUnstarted
  }

  private(set) var phase = Phase.created
  private(set) var suspensions = 1
  private(set) var work: (any TaskWork)?
  var session: URLSession?
  var outcome: TaskOutcome
  var originalRequest: URLRequest?
  /// nil while it is the original request.
  var changedRequest: URLRequest?
  var response: URLResponse?
  var error: (any Error)?
  var delegate: (any URLSessionTaskDelegate)?
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
  /// Whoever observes the task; made when the app first reads a property.
  var registrar: ObservationRegistrar?
  var resumption: Resumption?
  /// Who waits for what a later task can go on with.
  var resumeDataReceivers: [@Sendable (Data?) -> Void] = []

  init(session: URLSession?, request: URLRequest?, outcome: TaskOutcome) {
    self.session = session
    self.outcome = outcome
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

  mutating func resume() -> Action {
    guard suspensions > 0 else { return .nothing }
    // The call that the task was made for starts it, nobody else.
    if suspensions == 1, case .unclaimed = outcome { return .nothing }
    suspensions -= 1
    guard suspensions == 0 else { return .nothing }
    switch phase {
    case .created:
      guard let session else { return .nothing }
      phase = .started
      return .begin(session)
    case .started, .canceling: return work.map { .steer($0) } ?? .nothing
    case .completed: return .nothing
    }
  }

  mutating func suspend() -> Action {
    guard phase != .completed else { return .nothing }
    suspensions += 1
    guard suspensions == 1, let work else { return .nothing }
    return .steer(work)
  }

  mutating func cancel() -> Action {
    switch phase {
    case .created:
      phase = .canceling
      // Nobody waits yet for a task behind an `async` call; `claim` finds it canceling.
      if case .unclaimed = outcome { return .nothing }
      return .endUnstarted
    case .started:
      phase = .canceling
      return work.map { .cancel($0) } ?? .nothing
    case .canceling, .completed: return .nothing
    }
  }

  /// An `async` call takes a suspended task over and starts it.
  mutating func claim(_ outcome: TaskOutcome) -> Action {
    self.outcome = outcome
    if phase == .canceling { return .endUnstarted }
    return resume()
  }

  /// The work exists now. Returns what was asked of the task before it did.
  mutating func attach(_ work: any TaskWork) -> Action {
    self.work = work
    if phase == .canceling { return .cancel(work) }
    return suspensions > 0 ? .steer(work) : .nothing
  }

  /// Another task goes on with this one's work.
  mutating func adopt(_ work: any TaskWork, suspensions: Int, isCanceling: Bool) {
    self.work = work
    self.suspensions = suspensions
    phase = isCanceling ? .canceling : .started
  }

  /// What the app set of the task whose work this one goes on with, and what is known of its load.
  mutating func inherit(_ old: TaskState) {
    changedRequest = old.changedRequest
    response = old.response
    delegate = old.delegate
    taskDescription = old.taskDescription
    priority = old.priority
    earliestBeginDate = old.earliestBeginDate
    countOfBytesClientExpectsToSend = old.countOfBytesClientExpectsToSend
    countOfBytesClientExpectsToReceive = old.countOfBytesClientExpectsToReceive
  }

  /// Returns the outcome to report to; nil when the task had already ended.
  mutating func complete(error: (any Error)?) -> TaskOutcome? {
    guard phase != .completed else { return nil }
    phase = .completed
    suspensions = 0
    work = nil
    self.error = error
    defer { outcome = .reported }
    return outcome
  }
}

/// Who learns how a task ended.
enum TaskOutcome: Sendable {
  /// The delegates.
  case delegates
  case data(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
  case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
  /// A task behind an `async` call that has not started yet.
  case unclaimed
  case dataCall(UnsafeContinuation<(Data, URLResponse), any Error>)
  case fileCall(UnsafeContinuation<(URL, URLResponse), any Error>)
  case bytes(AsyncBytesFeed)
  /// Everything was said.
  case reported

  var isDelegates: Bool { if case .delegates = self { true } else { false } }
}

/// What a load brought.
enum Received: Sendable {
  case nothing
  case data(Data)
  case file(URL)
}

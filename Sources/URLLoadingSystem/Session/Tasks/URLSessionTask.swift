import Foundation
import NIOCore
import Synchronization

/// One load of a session: a request, its way there and the response's way back.
///
/// A session makes tasks; each starts suspended and is started by `resume()`. The session keeps a resumed task until it
/// ends. All members may be used from any thread. Copying a task gives the same task. Changes of its properties are
/// told through Observation.
open class URLSessionTask: NSObject, NSCopying, ProgressReporting, @unchecked Sendable {
  // Sendable by hand: what changes is behind the lock or atomic.

  /// The state of a task.
  public enum State: Int, Sendable {
    /// Under way; the timeouts apply.
    case running = 0
    /// Held by the app; no timeout applies.
    case suspended = 1
    /// Cancelled, its end not yet reported.
    case canceling = 2
    /// Over: it succeeded, failed or was cancelled, and the app was told. Nothing more is reported.
    case completed = 3
  }

  /// The priority of a task that sets none: 0.5.
  public class var defaultPriority: Float { 0.5 }
  /// A priority for what the user does not wait for: 0.25.
  public class var lowPriority: Float { 0.25 }
  /// A priority for what the user waits for: 0.75.
  public class var highPriority: Float { 0.75 }

  let lockedState: Mutex<TaskState>
  let requestBody: RequestBody
  let creation = DateAnchor()
  let bytesSent = Atomic<Int64>(0)
  let bytesReceived = Atomic<Int64>(0)
  let bytesExpectedToSend: Atomic<Int64>
  let bytesExpectedToReceive = Atomic<Int64>(NSURLSessionTransferSizeUnknown)
  /// Bits of `TaskFlags`.
  let flags = Atomic<UInt8>(0)

  init(session: URLSession, identifier: Int, request: URLRequest?, body: RequestBody, recipient: ResultRecipient) {
    number = identifier
    requestBody = body
    bytesExpectedToSend = Atomic(body.expectedLength(in: request))
    lockedState = Mutex(TaskState(session: session, request: request, recipient: recipient))
    super.init()
  }

  /// A task of no session, which never does anything: for subclasses that stand in for a task in an app's tests.
  @available(*, deprecated, message: "Use a factory of URLSession")
  public override init() {
    number = 0
    requestBody = .none
    bytesExpectedToSend = Atomic(0)
    lockedState = Mutex(TaskState(session: nil, request: nil, recipient: .delegates))
    super.init()
  }

  /// As `init()`.
  @available(*, deprecated, message: "Use a factory of URLSession")
  open class func new() -> URLSessionTask { URLSessionTask() }

  deinit {
    // Never resumed, so nothing else holds it: the session may be waiting for its end to become invalid.
    let session = lockedState.withLock { $0.phase == .created ? $0.session : nil }
    session?.forget(taskIdentifier)
  }

  // MARK: Identity, request and response

  /// A number that no other task of the same session has. It counts from 1; in a background session it is unique among
  /// the tasks of earlier processes too, and may be large.
  open var taskIdentifier: Int { number }

  let number: Int

  /// The request the task was made with.
  open var originalRequest: URLRequest? { lockedState.withLock { $0.originalRequest } }

  /// The request being loaded now: differs from the original after a redirect.
  open var currentRequest: URLRequest? {
    read(\.currentRequest) { $0.changedRequest ?? $0.originalRequest }
  }

  /// The response; nil until its head has arrived.
  open var response: URLResponse? { read(\.response, isFinalAtEnd: true) { $0.response } }

  /// A label of the app's, not interpreted. Default nil.
  open var taskDescription: String? {
    get { read(\.taskDescription) { $0.taskDescription } }
    set { setHint(\.taskDescription) { $0.taskDescription = newValue } }
  }

  /// Asked before the session's delegate, method by method. Set it before the first `resume()`; later changes are
  /// ignored. Held until the task ends, then nil. Background sessions do not ask it.
  open var delegate: (any URLSessionTaskDelegate)? {
    get { read(\.delegate) { $0.delegate } }
    set {
      // Released outside the lock: its `deinit` may use the task.
      let old = change(\.delegate) { state -> (any URLSessionTaskDelegate)? in
        guard case .created = state.phase else { return nil }
        defer { state.delegate = newValue }
        return state.delegate
      }
      withExtendedLifetime(old) {}
    }
  }

  // MARK: Counters

  /// Body bytes sent so far.
  open var countOfBytesSent: Int64 { read(\.countOfBytesSent) { _ in bytesSent.load(ordering: .relaxed) } }

  /// Body bytes received so far, after content decoding.
  open var countOfBytesReceived: Int64 { read(\.countOfBytesReceived) { _ in bytesReceived.load(ordering: .relaxed) } }

  /// The length of the request's body in bytes: 0 without a body, -1 when there is one of unknown length.
  open var countOfBytesExpectedToSend: Int64 {
    read(\.countOfBytesExpectedToSend) { _ in bytesExpectedToSend.load(ordering: .relaxed) }
  }

  /// The length of the response's body in bytes, -1 while or when it is not known.
  open var countOfBytesExpectedToReceive: Int64 {
    read(\.countOfBytesExpectedToReceive) { _ in bytesExpectedToReceive.load(ordering: .relaxed) }
  }

  /// A hint for scheduling: how many bytes, header included, the app expects to be sent. Default -1, unknown.
  open var countOfBytesClientExpectsToSend: Int64 {
    get { read(\.countOfBytesClientExpectsToSend) { $0.countOfBytesClientExpectsToSend } }
    set { setHint(\.countOfBytesClientExpectsToSend) { $0.countOfBytesClientExpectsToSend = newValue } }
  }

  /// A hint for scheduling: how many bytes, header included, the app expects to be received. Default -1, unknown.
  open var countOfBytesClientExpectsToReceive: Int64 {
    get { read(\.countOfBytesClientExpectsToReceive) { $0.countOfBytesClientExpectsToReceive } }
    set { setHint(\.countOfBytesClientExpectsToReceive) { $0.countOfBytesClientExpectsToReceive = newValue } }
  }

  /// Bytes sent and received of those expected. Cancelling it cancels the task, pausing suspends it, resuming resumes
  /// it, a moment later; and it shows as paused or cancelled when the task is suspended or cancelled itself. Made when
  /// first asked for.
  open var progress: Progress { progressObject() }

  // MARK: State and control

  /// The state of the task. `.suspended` until the first `resume()`.
  open var state: State { read(\.state, isFinalAtEnd: true) { $0.publicState } }

  /// Why the task failed: a `URLError`, or the error of a custom `URLProtocol`. nil while it is under way and after success.
  open var error: (any Error)? { read(\.error, isFinalAtEnd: true) { $0.error } }

  /// Starts the task, or takes one `suspend()` back.
  open func resume() {
    perform(steer { $0.resume() })
  }

  /// Holds the task until `resume()` was called once for every `suspend()`. Timeouts do not run meanwhile. Bytes that
  /// had arrived before may still be delivered.
  open func suspend() {
    perform(steer { $0.suspend() })
  }

  /// Ends the task with `URLError.cancelled`, reported later as any other end. After this call no data and no file is
  /// delivered, whatever had already arrived. No effect once the end was told.
  open func cancel() {
    perform(steer { $0.cancel() })
  }

  // MARK: Hints

  /// Which task gets the next connection when several wait: 0 to 1; what lies outside becomes the nearer of them. May
  /// be changed at any time: a task that waits moves to its new place at once. Default 0.5.
  open var priority: Float {
    get { read(\.priority) { $0.priority } }
    set {
      guard !newValue.isNaN else { return }
      setHint(\.priority) { $0.priority = min(max(newValue, 0), 1) }
    }
  }

  /// Changes what the work, once there is one, has to be told of.
  func setHint<Value>(_ property: KeyPath<URLSessionTask, Value>, _ set: (inout TaskState) -> Void) {
    let work = change(property) { state in
      set(&state)
      return state.work
    }
    work?.hintsChanged(of: self)
  }

  /// Whether the app wants bytes as they arrive. A hint. Default true; false for download tasks and tasks with a
  /// completion handler.
  open var prefersIncrementalDelivery: Bool {
    get { read(\.prefersIncrementalDelivery) { $0.prefersIncrementalDelivery } }
    set { change(\.prefersIncrementalDelivery) { $0.prefersIncrementalDelivery = newValue } }
  }

  /// The task does not begin before this date, however early it is resumed; the delegate is then asked with
  /// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`. nil, the default: at once.
  open var earliestBeginDate: Date? {
    get { read(\.earliestBeginDate) { $0.earliestBeginDate } }
    set { setHint(\.earliestBeginDate) { $0.earliestBeginDate = newValue } }
  }

  // MARK: NSObject

  /// The task itself; `zone` has no meaning.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The same task.
  open override func copy() -> Any { self }

  // MARK: For the kinds of tasks

  /// The work is over, and the task's end about to be told: handlers of reads and writes that wait are told first.
  func willEnd(with error: URLError?) {}
}

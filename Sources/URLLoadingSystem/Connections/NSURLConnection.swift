import Foundation
import Synchronization

/// One load that reports to a delegate on a run loop or an operation queue: the API before `URLSession`.
///
/// A connection is a task of a session that all connections share. That session has the default configuration: the
/// shared cache, cookies and credentials. The connection keeps itself and its delegate until
/// `connectionDidFinishLoading(_:)`, `connection(_:didFailWithError:)` or
/// `connectionDidFinishDownloading(_:destinationURL:)` has returned, or until it is cancelled.
///
/// A delegate that is an `NSURLConnectionDownloadDelegate` gets a file; every other one gets the data. Of an object that
/// is no `NSURLConnectionDelegate` at all nothing is asked, and nothing is told.
@available(*, deprecated, message: "Use URLSession and its tasks.")
open class NSURLConnection: NSObject, @unchecked Sendable {
  // Sendable by hand, because subclasses are allowed: what changes is behind a lock.

  private enum Phase { case created, started, over }

  private struct State {
    var phase = Phase.created
    var delegates: ConnectionDelegates?
    var task: URLSessionTask?
    /// The body of the request as far as it was read; nil for a request without a stream.
    var body: SpooledBody?
    /// The app has cancelled a challenge.
    var hasCancelledChallenge = false
    /// How many bytes were there when the download broke off the last time.
    var resumedBytes: Int64 = 0
  }

  private let request: URLRequest
  private let sessions: ConnectionSessions
  private let delivery = ScheduledDelivery()
  private let lane: DeliveryLane
  private let state: Mutex<State>

  // MARK: Making connections

  /// A connection that loads `request`.
  ///
  /// nil when the request may be answered from the cache alone (`.returnCacheDataDontLoad`) and nothing is stored for it.
  /// - Parameters:
  ///   - request: The request, which is copied.
  ///   - delegate: Kept until the connection is over. nil for none.
  ///   - startImmediately: true: the connection is scheduled on the current run loop in its default mode and started.
  ///     false: it waits for `start()`, and may be scheduled before.
  @available(*, deprecated, message: "Use URLSession.dataTask(with:) and resume().")
  public init?(request: URLRequest, delegate: Any?, startImmediately: Bool) {
    guard ConnectionSessions.shared.mayAnswer(request) else { return nil }
    (self.request, sessions, lane) = (request, .shared, DeliveryLane(to: delivery))
    state = Mutex(State(delegates: ConnectionDelegates(delegate)))
    super.init()
    if startImmediately { start() }
  }

  /// As `init(request:delegate:startImmediately:)`, started at once.
  @available(*, deprecated, message: "Use URLSession.dataTask(with:) and resume().")
  public convenience init?(request: URLRequest, delegate: Any?) {
    self.init(request: request, delegate: delegate, startImmediately: true)
  }

  /// A connection of other sessions than the shared ones.
  init?(request: URLRequest, delegate: Any?, startImmediately: Bool, in sessions: ConnectionSessions) {
    guard sessions.mayAnswer(request) else { return nil }
    (self.request, self.sessions, lane) = (request, sessions, DeliveryLane(to: delivery))
    state = Mutex(State(delegates: ConnectionDelegates(delegate)))
    super.init()
    if startImmediately { start() }
  }

  // MARK: Requests

  /// The request the connection was made with.
  open var originalRequest: URLRequest { request }

  /// The request that is being loaded: differs from the original when the delegate has changed it, and after a redirect.
  open var currentRequest: URLRequest { state.withLock { $0.task }?.presentRequest ?? request }

  // MARK: Control

  /// Begins to load. A connection that is scheduled nowhere is scheduled on the current run loop, in its default mode.
  /// No effect on a connection that was started or cancelled before.
  open func start() {
    let delegates = state.withLock { state -> ConnectionDelegates? in
      guard state.phase == .created else { return nil }
      state.phase = .started
      return state.delegates
    }
    guard let delegates else { return }
    if !delivery.isScheduled { delivery.schedule(in: .current, forMode: .default) }
    let storesCredentials = delegates.delegate?.connectionShouldUseCredentialStorage(self) ?? true
    let session = storesCredentials ? sessions.stored : sessions.unstored
    var request = self.request
    if let stream = request.httpBodyStream {
      let body = SpooledBody(SendableInputStream(stream))
      state.withLock { $0.body = body }
      request.httpBodyStream = SpooledBodyStream(body)
    }
    let task = delegates.download == nil ? session.dataTask(with: request) : session.downloadTask(with: request)
    // The delegate is asked about the request before it is sent.
    task.earliestBeginDate = .distantPast
    begin(task)
  }

  private func begin(_ task: URLSessionTask) {
    task.delegate = ConnectionEvents(self)
    task.lockedState.withLock { $0.ownLane = lane }
    let isWanted = state.withLock { state in
      state.task = task
      return state.phase == .started
    }
    // Cancelled by the delegate, or by another thread, meanwhile.
    guard isWanted else { return task.cancel() }
    task.resume()
  }

  /// Stops the load and releases the delegate, which is told nothing more. No effect on a connection that is over.
  open func cancel() {
    let old = finish()
    delivery.close()
    old.task?.cancel()
    old.body?.abandon()
  }

  /// Nothing is told from now on. Returns what the connection held, to be released outside the lock.
  private func finish() -> State {
    state.withLock { state in
      defer {
        state.phase = .over
        state.delegates = nil
        state.body = nil
      }
      return state
    }
  }

  // MARK: Scheduling

  /// Has delegate calls made on the thread of `loop` while it runs in `mode`. Takes the place of a delegate queue. A
  /// connection may be scheduled on several run loops and modes; each call is then made once, by the first that runs.
  open func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) { delivery.schedule(in: loop, forMode: mode) }

  /// Takes back `schedule(in:forMode:)`. While a connection is scheduled nowhere its calls wait, and so does the load.
  open func unschedule(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    delivery.unschedule(from: loop, forMode: mode)
  }

  /// Has delegate calls made on `queue`, in order, in place of all run loops; with nil, on no queue. No effect on a
  /// connection that was started.
  open func setDelegateQueue(_ queue: OperationQueue?) {
    guard state.withLock({ $0.phase == .created }) else { return }
    delivery.use(queue)
  }

  // MARK: For the events

  /// Runs `call` with the delegates; nil, and nothing is run, once the connection is over.
  func tell<Value>(_ call: (ConnectionDelegates) -> Value) -> Value? {
    let delegates = state.withLock { $0.phase == .started ? $0.delegates : nil }
    return delegates.map(call)
  }

  /// Runs `call`, which is the last, with the delegates.
  func end(_ call: (ConnectionDelegates) -> Void) {
    let old = finish()
    if old.phase == .started, let delegates = old.delegates { call(delegates) }
    delivery.close()
    old.body?.abandon()
  }

  /// The end of a load that failed.
  func fail(with error: any Error) {
    let hasCancelledChallenge = state.withLock { $0.hasCancelledChallenge }
    end { $0.delegate?.connection(self, didFailWithError: error.ofConnection(hasCancelledChallenge)) }
  }

  /// The app has cancelled `challenge`: the delegate is told before the load fails.
  func cancelled(_ challenge: URLAuthenticationChallenge) {
    state.withLock { $0.hasCancelledChallenge = true }
    lane.append { [self] in
      _ = tell { $0.delegate?.connection(self, didCancel: challenge) }
    }
  }

  /// The body of the request from its first byte on; nil for a request without a stream.
  func repeatedBody() -> InputStream? { state.withLock { $0.body }.map { SpooledBodyStream($0) } }

  /// Goes on with a download that broke off, unless nothing has come since it did so before.
  func resume(after error: URLError, in session: URLSession) -> Bool {
    guard error.code == .networkConnectionLost, let data = error.downloadTaskResumeData,
      let progress = try? DownloadResumeData(decoding: data)
    else { return false }
    let goesOn = state.withLock { state in
      guard state.phase == .started, progress.bytesReceived > state.resumedBytes else { return false }
      state.resumedBytes = progress.bytesReceived
      return true
    }
    if goesOn { begin(session.downloadTask(withResumeData: data)) }
    return goesOn
  }
}

import Foundation
import Synchronization

/// A group of related loads that share a configuration, a delegate, connections, cookies, credentials and a cache.
///
/// A session makes tasks; the methods with a completion handler and the `async` methods are shortcuts for the common
/// cases. Everything may be called from any thread. Delegate calls and completion handlers run on `delegateQueue`.
///
/// The session keeps its delegate until it was invalidated, and its resumed tasks until they have ended. A session that
/// is dropped without having been invalidated closes its connections once its last task has ended, and reports nothing.
///
/// A task made on a session that was invalidated fails with `URLError.cancelled`, reported as any other failure.
open class URLSession: NSObject, @unchecked Sendable {
  // Sendable by hand: what changes is behind locks.

  private struct State {
    var delegate: (any URLSessionDelegate)?
    var facets: DelegateFacets?
    var sessionDescription: String?
    /// Why the session ends by itself; nil when the app ended it.
    var invalidityReason: URLError?
  }

  private static let theShared = URLSession(shared: .default)

  let registry = TaskRegistry()
  let events = TransferEventHub()
  let engine: any TaskEngine
  /// For what concerns the session as a whole and, on a serial queue, for every task.
  let lane: DeliveryLane
  private let ownQueue: OperationQueue
  private let isSerial: Bool
  private let isShared: Bool
  /// Fixed, so that a session without a delegate needs no lock to know.
  private let hasDelegate: Bool
  private let ownConfiguration: URLSessionConfiguration
  private let state: Mutex<State>

  // MARK: Making sessions

  /// The session for simple loads: default configuration with the shared cache, cookies and credentials, no delegate.
  /// It can't be invalidated.
  open class var shared: URLSession { theShared }

  /// A session without a delegate, whose completion handlers run on a serial queue of its own.
  public init(configuration: URLSessionConfiguration) {
    let parts = Parts(configuration: configuration, delegate: nil, queue: nil)
    (ownConfiguration, engine, lane) = (parts.configuration, parts.engine, parts.lane)
    (ownQueue, isSerial) = (parts.queue, parts.isSerial)
    (isShared, hasDelegate) = (false, false)
    state = Mutex(State())
    super.init()
    engine.adopt(self)
  }

  /// A session.
  /// - Parameters:
  ///   - configuration: Copied; later changes do not affect the session.
  ///   - delegate: Kept until `urlSession(_:didBecomeInvalidWithError:)` has returned. nil for none.
  ///   - queue: Where delegate calls and completion handlers run. On a concurrent queue (more than one operation at a
  ///     time) the order holds only within a task. nil makes a serial queue.
  public init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue?
  ) {
    let parts = Parts(configuration: configuration, delegate: delegate, queue: queue)
    (ownConfiguration, engine, lane) = (parts.configuration, parts.engine, parts.lane)
    (ownQueue, isSerial) = (parts.queue, parts.isSerial)
    (isShared, hasDelegate) = (false, delegate != nil)
    state = Mutex(State(delegate: delegate, facets: parts.facets))
    super.init()
    engine.adopt(self)
  }

  /// A session with the default configuration and no delegate.
  @available(*, deprecated, message: "Use init(configuration:) or init(configuration:delegate:delegateQueue:)")
  public override init() {
    let parts = Parts(configuration: .default, delegate: nil, queue: nil)
    (ownConfiguration, engine, lane) = (parts.configuration, parts.engine, parts.lane)
    (ownQueue, isSerial) = (parts.queue, parts.isSerial)
    (isShared, hasDelegate) = (false, false)
    state = Mutex(State())
    super.init()
    engine.adopt(self)
  }

  /// As `init()`.
  @available(*, deprecated, message: "Use init(configuration:) or init(configuration:delegate:delegateQueue:)")
  open class func new() -> URLSession { URLSession() }

  /// A session of the library's own, which has the app's cache of the moment and can't be invalidated.
  init(shared configuration: URLSessionConfiguration) {
    let parts = Parts(configuration: configuration, delegate: nil, queue: nil, isShared: true)
    (ownConfiguration, engine, lane) = (parts.configuration, parts.engine, parts.lane)
    (ownQueue, isSerial) = (parts.queue, parts.isSerial)
    (isShared, hasDelegate) = (true, false)
    state = Mutex(State())
    super.init()
    engine.adopt(self)
  }

  deinit { engine.shutDown() }

  // MARK: Properties

  /// The queue on which delegate calls and completion handlers run. One that the session has made is serial and stays so,
  /// whatever becomes of its `maxConcurrentOperationCount`.
  open var delegateQueue: OperationQueue { ownQueue }

  /// The session's delegate; nil once the session has become invalid.
  open var delegate: (any URLSessionDelegate)? { state.withLock { $0.delegate } }

  /// A copy of the configuration the session was made with. Changing it does not affect the session.
  open var configuration: URLSessionConfiguration {
    ownConfiguration.copy() as? URLSessionConfiguration ?? ownConfiguration
  }

  var credentialStorage: URLCredentialStorage? { ownConfiguration.urlCredentialStorage }
  var cookieAcceptPolicy: HTTPCookie.AcceptPolicy { ownConfiguration.httpCookieAcceptPolicy }

  /// A label of the app's, not interpreted. Default nil.
  open var sessionDescription: String? {
    get { state.withLock { $0.sessionDescription } }
    set { state.withLock { $0.sessionDescription = newValue } }
  }

  // MARK: Ending

  /// Takes no new tasks and lets the existing ones end; then `urlSession(_:didBecomeInvalidWithError:)` is called with
  /// nil and the delegate released. Returns at once. No effect on the shared session.
  open func finishTasksAndInvalidate() {
    guard !isShared else { return }
    // A background session ends only once the tasks of earlier processes are known to be its own.
    engine.whenReady { [self] in
      if registry.invalidate() { announceInvalidity() }
    }
  }

  /// As `finishTasksAndInvalidate`, but cancels the existing tasks. No effect on the shared session.
  open func invalidateAndCancel() {
    guard !isShared else { return }
    engine.whenReady { [self] in
      if registry.invalidate() { announceInvalidity() }
      for task in registry.outstanding() { task.cancel() }
    }
  }

  // MARK: Storage

  /// Empties the session's cookie, cache and credential stores, and makes later requests use new connections.
  /// - Parameter completionHandler: Called on the delegate queue when this is done.
  @preconcurrency
  open func reset(completionHandler: @escaping @Sendable () -> Void) {
    // Stores wait for their disks, and subclasses for what they like, which no thread of Swift's tasks may.
    URLSession.storeQueue.async { [self] in
      SessionStores(ownConfiguration).empty()
      engine.forgetServers()
      flush(completionHandler: completionHandler)
    }
  }

  private static let storeQueue = DispatchQueue(label: "URLSession stores", attributes: .concurrent)

  /// Writes cookies and credentials to disk and makes later requests use new connections. On a background session the
  /// handler is called once the transfer service has every task resumed so far, safe against a crash of either side.
  /// - Parameter completionHandler: Called on the delegate queue when this is done.
  @preconcurrency
  open func flush(completionHandler: @escaping @Sendable () -> Void) {
    let lane = laneForTask()
    let cookieStorage = ownConfiguration.httpCookieStorage
    engine.flush { [credentialStorage] in
      let credentialsWritten: @Sendable () -> Void = {
        guard let credentialStorage else { return lane.append(completionHandler) }
        credentialStorage.whenWritten { lane.append(completionHandler) }
      }
      guard let cookieStorage else { return credentialsWritten() }
      cookieStorage.whenWritten(credentialsWritten)
    }
  }

  // MARK: Tasks

  /// The data, upload and download tasks that were resumed and have neither ended nor been cancelled, handed over on
  /// the delegate queue.
  @preconcurrency
  open func getTasksWithCompletionHandler(
    _ completionHandler:
      @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
  ) {
    let lane = laneForTask()
    engine.whenReady { [registry] in
      let tasks = TasksByKind(registry.going())
      lane.append { completionHandler(tasks.data, tasks.upload, tasks.download) }
    }
  }

  /// All tasks that were resumed and have neither ended nor been cancelled, handed over on the delegate queue.
  @preconcurrency
  open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
    let lane = laneForTask()
    engine.whenReady { [registry] in
      let tasks = registry.going()
      lane.append { completionHandler(tasks) }
    }
  }

  // MARK: Factories

  /// A suspended task that loads `request`.
  open func dataTask(with request: URLRequest) -> URLSessionDataTask { makeDataTask(request) }

  /// A suspended task that gets `url`.
  open func dataTask(with url: URL) -> URLSessionDataTask { makeDataTask(URLRequest(url: url)) }

  /// A suspended task that sends the file at `fileURL`. The request's own body is ignored. A file that can't be read
  /// fails the task before anything is sent.
  open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
    makeUploadTask(request, body: .file(fileURL))
  }

  /// A suspended task that sends `bodyData`. The request's own body is ignored.
  open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
    makeUploadTask(request, body: .data(bodyData))
  }

  /// A suspended task that asks its delegate for the stream to send. The request's own body is ignored.
  open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
    makeUploadTask(request, body: .streamFromClient)
  }

  /// A suspended task that loads `request` to a temporary file.
  open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask { makeDownloadTask(request) }

  /// A suspended task that loads `url` to a temporary file.
  open func downloadTask(with url: URL) -> URLSessionDownloadTask { makeDownloadTask(URLRequest(url: url)) }

  /// A suspended task that sends the rest of an interrupted upload.
  ///
  /// The server is asked how much it has. A file must be the one it was and unchanged; a streamed upload asks its
  /// delegate for a stream that begins where the server's part ends. Resume data that is damaged fails the task with
  /// `URLError.unsupportedURL`, a file that has changed with `URLError.cannotOpenFile`, a server that does not know the
  /// upload any more with `URLError.badServerResponse`.
  open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask { makeUploadTask(resuming: resumeData) }

  /// A suspended task that goes on with an interrupted download.
  ///
  /// The rest is asked for on the condition that the resource is unchanged. When it has changed, or when the server
  /// sends all of it in any case, the download starts over and the delegate is told that it resumes at offset 0.
  /// Resume data that is damaged fails the task with `URLError.unsupportedURL`; a partial file that is gone, was
  /// changed or is in use with `URLError.cannotOpenFile`. Resume data is good for one task; when that fails it hands
  /// over new one.
  open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
    makeDownloadTask(resuming: resumeData)
  }

  /// A suspended task that opens a TCP connection.
  /// - Parameters:
  ///   - hostname: A name or an address. The session's proxies are used as for https, SOCKS before others.
  ///   - port: 1 to 65535. With anything else the task fails with `URLError.badURL`.
  open func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
    makeStreamTask(to: hostname, port: port)
  }

  /// A suspended task that opens a WebSocket at `url`, whose scheme is ws or wss; http and https mean the same. Any
  /// other ends the task with `URLError.unsupportedURL`.
  open func webSocketTask(with url: URL) -> URLSessionWebSocketTask { makeWebSocketTask(URLRequest(url: url)) }

  /// A suspended task that opens a WebSocket at `url` and offers subprotocols, best first. The one that the server
  /// chooses is told to the delegate; messages are the same with each. A name that is not a token of HTTP (RFC 9110
  /// §5.6.2) ends the task with `URLError.badURL`; one that is given twice is offered once.
  open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
    makeWebSocketTask(URLRequest(url: url), protocols: protocols)
  }

  /// A suspended task that opens a WebSocket with `request` as its handshake. Its fields are sent as they are, among
  /// them Sec-WebSocket-Protocol; a method other than GET and a body are not.
  open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask { makeWebSocketTask(request) }

  // MARK: Factories with a completion handler

  /// A suspended task that loads `request` into memory. No response or data message goes to a delegate.
  ///
  /// `completionHandler` is called once, on the delegate queue: with data and response, or with a `URLError` and the
  /// response if there was one.
  @preconcurrency
  open func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { makeDataTask(request, recipient: .data(completionHandler)) }

  /// As `dataTask(with:completionHandler:)` with a request that gets `url`.
  @preconcurrency
  open func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { makeDataTask(URLRequest(url: url), recipient: .data(completionHandler)) }

  /// A suspended task that sends the file at `fileURL`. The request's own body is ignored.
  @preconcurrency
  open func uploadTask(
    with request: URLRequest, fromFile fileURL: URL,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask { makeUploadTask(request, body: .file(fileURL), recipient: .data(completionHandler)) }

  /// A suspended task that sends `bodyData`, nil being an empty body. The request's own body is ignored.
  @preconcurrency
  open func uploadTask(
    with request: URLRequest, from bodyData: Data?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask {
    makeUploadTask(request, body: .data(bodyData ?? Data()), recipient: .data(completionHandler))
  }

  /// A suspended task that loads `request` to a temporary file.
  ///
  /// `completionHandler` is called once, on the delegate queue. Move or open the file before returning: what is left of
  /// it is then removed.
  @preconcurrency
  open func downloadTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDownloadTask { makeDownloadTask(request, recipient: .file(completionHandler)) }

  /// As `downloadTask(with:completionHandler:)` with a request that gets `url`.
  @preconcurrency
  open func downloadTask(
    with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDownloadTask { makeDownloadTask(URLRequest(url: url), recipient: .file(completionHandler)) }

  /// As `uploadTask(withResumeData:)`, telling a completion handler.
  @preconcurrency
  open func uploadTask(
    withResumeData resumeData: Data, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask { makeUploadTask(resuming: resumeData, recipient: .data(completionHandler)) }

  /// As `downloadTask(withResumeData:)`, telling a completion handler.
  @preconcurrency
  open func downloadTask(
    withResumeData resumeData: Data, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDownloadTask { makeDownloadTask(resuming: resumeData, recipient: .file(completionHandler)) }

  // MARK: For the tasks

  var facets: DelegateFacets? { hasDelegate ? state.withLock { $0.facets } : nil }

  /// The session's lane on a serial queue, one for each task on a concurrent one.
  func laneForTask() -> DeliveryLane { isSerial ? lane : DeliveryLane(to: ownQueue) }

  /// The lane of `task`, which may have one that leads elsewhere.
  func lane(for task: URLSessionTask) -> DeliveryLane { task.lockedState.withLock { $0.ownLane } ?? laneForTask() }

  /// The session's end is announced when its last task has gone.
  func forget(_ taskIdentifier: Int) {
    if registry.forget(taskIdentifier) { announceInvalidity() }
  }

  /// The session's engine can't go on: the session ends by itself, with the reason.
  func becomeInvalid(with error: URLError) {
    noteInvalidity(error)
    if registry.invalidate() { announceInvalidity() }
  }

  /// Its delegate is told this error when it becomes invalid from now on.
  func noteInvalidity(_ error: URLError) { state.withLock { $0.invalidityReason = error } }

  /// The error of a task that was made too late.
  var invalidityError: URLError { state.withLock { $0.invalidityReason } ?? ErrorMapping.cancelled }

  private func announceInvalidity() {
    engine.invalidated()
    events.finish()
    let (facets, error) = state.withLock { state in
      defer { state.facets = nil }
      return (state.facets, state.invalidityReason)
    }
    let lost = error == nil ? nil : configuration.identifier
    if let lost { URLSessionApplication.shared.lost(lost) }
    lane.append { [self] in
      facets?.session.urlSession(self, didBecomeInvalidWithError: error)
      state.withLock { $0.delegate = nil }
      if let lost { URLSessionApplication.shared.toldLoss(of: lost) }
    }
  }
}

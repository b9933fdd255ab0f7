import Foundation
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import TransferProtocol

/// Runs the tasks of a background session in the transfer service and keeps the app's objects in step with it.
///
/// 1. `adopt` starts one Swift task that connects (starting the service if need be), attaches to the session by its
///    identifier, makes task objects for what the service already has, and asks for delivery.
/// 2. Tasks are handed over at their first `resume()`; the service has them once it has said so.
/// 3. Events arrive numbered; each is acknowledged after the delegate has returned from the call it became.
/// 4. When the connection ends (the service was stopped, or killed) it is made again and 1 repeats: what the service
///    does not know is handed over again, what it tells again is recognised by its number.
///
/// Confined to one loop, but for what is marked otherwise.
final class BackgroundEngine: TaskEngine, @unchecked Sendable {
  let identifier: String
  let attachment = Attachment()
  private let options: SessionOptions
  private let executor = LoopExecutor.all[0]

  // Confined to the loop.
  /// Kept until the session is invalidated: its tasks' events must find it, whether or not the app keeps it.
  var session: URLSession?
  var works: [Int: BackgroundWork] = [:]
  /// Numbers of events that the app is handling or has handled, in this process, and that the service may tell again.
  var seenSequences: Set<Int64> = []
  /// Those of them that the app has handled.
  var handledSequences: Set<Int64> = []
  /// Tasks whose end was told in this process. The service may still know of them, until it has the acknowledgement.
  var finishedTasks: Set<Int> = []
  /// The service has promised to say when everything is told, and has not said it yet.
  var isPromisedFinish = false
  /// The present conversation, once the session is attached through it.
  private var connection: ServiceConnection?
  private var closed: CheckedContinuation<Void, Never>?
  private var isClosed = true
  /// Counts connections: the end of an earlier one is ignored.
  private var round = 0
  private var isEnded = false
  /// Nothing is left to do but to have the service forget the session.
  private var isInvalidated = false
  private var unsent: [BackgroundWork] = []
  private var isSending = false
  /// Messages under way that speak of a single task.
  private var loneSends = 0
  private var flushWaiters: [@Sendable () -> Void] = []

  private static let engines = Mutex<[String: WeakEngine]>([:])
  private struct WeakEngine { weak var engine: BackgroundEngine? }

  init(identifier: String, configuration: URLSessionConfiguration) {
    self.identifier = identifier
    options = SessionOptions(configuration)
  }

  /// From any thread.
  func onLoop(_ action: @escaping @Sendable (BackgroundEngine) -> Void) {
    if executor.loop.inEventLoop { action(self) } else { executor.loop.execute { action(self) } }
  }

  // MARK: TaskEngine, from any thread

  func adopt(_ session: URLSession) {
    BackgroundEngine.engines.withLock { $0[identifier] = WeakEngine(engine: self) }
    onLoop { $0.session = session }
    Task(executorPreference: executor) { await self.run() }
  }

  var reservesSlowly: Bool { true }

  func reserveTaskIdentifier() -> Int? { attachment.reserveIdentifier() }

  func whenReady(_ action: @escaping @Sendable () -> Void) { attachment.whenSettled(action) }

  func makeWork(for task: URLSessionTask, from start: TaskStart) -> any TaskWork {
    let work = BackgroundWork(engine: self, task: task, token: UUID().uuidString)
    onLoop { $0.works[task.taskIdentifier] = work }
    return work
  }

  /// Done when the service has every task that was resumed so far, safe against a power failure.
  func flush(_ completion: @escaping @Sendable () -> Void) {
    onLoop { engine in
      engine.flushWaiters.append(completion)
      engine.checkFlush()
    }
  }

  /// The session is gone; the tasks stay with the service.
  func shutDown() { onLoop { $0.end() } }

  /// The session was invalidated and its last task has ended: the service forgets it. Where there is no connection at
  /// the moment, the next one tells it; a service that can't be reached for half a minute keeps the session.
  func invalidated() {
    onLoop { engine in
      guard !engine.isEnded else { return engine.end() }
      engine.isInvalidated = true
      engine.session = nil
      guard let connection = engine.connection else { return }
      Task(executorPreference: engine.executor) {
        // Without success the connection ends, and the next one says it.
        do { try await engine.tellInvalidation(over: connection) } catch { connection.close() }
      }
    }
  }

  private func tellInvalidation(over connection: ServiceConnection) async throws {
    // The app may have made the session anew meanwhile; its tasks of now must not be ended here.
    let isOurs = BackgroundEngine.engines.withLock { engines in
      engines[identifier]?.engine.map { $0 === self } ?? true
    }
    if isOurs { _ = try await connection.request(.invalidate(SessionReference(session: identifier))) }
    end()
  }

  private func end() {
    isEnded = true
    connection?.close()
    connection = nil
    session = nil
    BackgroundEngine.engines.withLock { engines in
      if engines[identifier]?.engine === self { engines[identifier] = nil }
    }
  }

  // MARK: The connection

  private func run() async {
    var failures = 0
    while !isEnded {
      do {
        try await attach()
        failures = 0
        await connectionEnds()
      } catch {
        failures += 1
        if isInvalidated, failures > BackgroundEngine.invalidationTries { return end() }
        if !isInvalidated, let reason = finalReason(of: error, after: failures) { return fail(reason) }
        await pause(after: failures)
      }
    }
  }

  private func attach() async throws {
    round += 1
    isClosed = false
    let current = round
    let connection = try await ServiceConnection.open(
      onPush: { [weak self] push in self?.onLoop { $0.handle(push) } },
      onClose: { [weak self] in self?.onLoop { $0.connectionClosed(round: current) } })
    do {
      try await attach(over: connection)
    } catch {
      self.connection = nil
      connection.close()
      throw error
    }
    if isEnded { end() }
  }

  private func attach(over connection: ServiceConnection) async throws {
    let reply = try await connection.request(.attach(Attach(session: identifier, options: options)))
    guard case .attached(let attached) = reply else { throw ServiceUnavailable(reason: "it gave no sensible answer") }
    if isInvalidated {
      try await tellInvalidation(over: connection)
      return connection.close()
    }
    var known: [Int: TransferState] = [:]
    var page = attached.page
    while true {
      for snapshot in page.tasks {
        known[snapshot.description.taskIdentifier] = snapshot.status.state
        reconcile(snapshot)
      }
      guard let next = page.next else { break }
      let reply = try await connection.request(.sessionTasks(SessionTasks(session: identifier, after: next)))
      guard case .tasks(let more) = reply else { break }
      page = more
    }
    // A task whose creation was never acknowledged may or may not be there; handing it over again is harmless.
    unsent = works.values.filter { known[$0.task.taskIdentifier] == nil && $0.sequences.isEmpty }
      .sorted { $0.task.taskIdentifier < $1.task.taskIdentifier }
    self.connection = connection
    repeatWishes(known)
    attachment.succeed(nextIdentifier: attached.nextTaskIdentifier)
    if attached.willFinishEvents { isPromisedFinish = true }
    _ = try await connection.request(.startDelivery(SessionReference(session: identifier)))
    // Promised by a service that died after the last acknowledgement: this one has nothing left to tell.
    if isPromisedFinish, !attached.willFinishEvents { finishEvents() }
    sendUnsent()
  }

  /// Requests for tasks that the app made while there was no connection.
  private func repeatWishes(_ known: [Int: TransferState]) {
    for (identifier, state) in known where state != .completed {
      guard let work = works[identifier] else { continue }
      tellHints(work)
      if work.task.presentState == .canceling {
        cancel(work)
      } else if (state == .suspended) != work.task.isSuspended {
        steer(work)
      }
    }
  }

  private func connectionClosed(round: Int) {
    guard round == self.round else { return }
    isClosed = true
    connection = nil
    let waiting = closed
    closed = nil
    waiting?.resume()
  }

  private func connectionEnds() async {
    guard !isClosed else { return }
    await withCheckedContinuation { closed = $0 }
  }

  /// Whether there is no use in trying again.
  private func finalReason(of error: any Error, after failures: Int) -> URLError? {
    switch error {
    case let refusal as Refusal where refusal.reason == .inUse:
      // The process that held the session may have died a moment ago and the service not have noticed yet.
      guard failures > 5 else { return nil }
      return ErrorMapping.make(.backgroundSessionInUseByAnotherProcess, because: refusal.message)
    case let refusal as Refusal where [.shuttingDown, .storage].contains(refusal.reason): return nil
    case let refusal as Refusal: return ErrorMapping.make(.backgroundSessionWasDisconnected, because: refusal.message)
    default:
      // Once the service has had our tasks it is worth waiting for: they are safe with it.
      if works.values.contains(where: \.isCreated) { return nil }
      return failures < 3 ? nil : ErrorMapping.make(.backgroundSessionWasDisconnected, because: "\(error)")
    }
  }

  /// The waits between them grow to three seconds.
  private static let invalidationTries = 14

  private func pause(after failures: Int) async {
    let delay = TimeAmount.milliseconds(Int64(50 << min(failures, 6)))
    try? await executor.loop.scheduleTask(in: delay) {}.futureResult.get()
  }

  /// The session can't be used: every task fails, and so will later ones.
  private func fail(_ error: URLError) {
    isEnded = true
    attachment.fail(error)
    for work in works.values { finish(work, .failure(error)) }
    checkFlush()
    session?.becomeInvalid(with: error)
    session = nil
  }

  // MARK: Telling the service

  func create(_ work: BackgroundWork) {
    if let failure = attachment.failure { return finish(work, .failure(failure)) }
    if let problem = BackgroundEngine.problem(with: work.task) { return finish(work, .failure(problem)) }
    works[work.task.taskIdentifier] = work
    unsent.append(work)
    sendUnsent()
  }

  /// What a background session can't do, said before it is tried.
  private static func problem(with task: URLSessionTask) -> URLError? {
    switch task.resumption {
    case .broken(let error): return error
    case .download(let data): if let problem = data.fileProblem { return problem }
    case .upload, nil: break
    }
    guard task.recipient.isDelegates else {
      return ErrorMapping.make(
        .unknown,
        because: "A background session tells its delegate: a completion handler or an async call would be "
          + "lost with the process.")
    }
    guard task is URLSessionDownloadTask else {
      return ErrorMapping.make(.unknown, because: "Background sessions take download tasks only.")
    }
    guard ["http", "https"].contains(task.originalRequest?.url?.scheme?.lowercased() ?? "") else {
      return ErrorMapping.make(.unsupportedURL, because: "Background sessions load http and https URLs only.")
    }
    if task.originalRequest?.httpBodyStream != nil {
      return ErrorMapping.make(
        .requestBodyStreamExhausted, because: "A background task can't have a body stream: it ends with the process.")
    }
    return nil
  }

  /// Hands over all that waits in batches, so that ten thousand tasks are a few messages and a few commits.
  private func sendUnsent() {
    guard !isSending, let connection, !unsent.isEmpty else { return checkFlush() }
    isSending = true
    let (batch, tasks) = nextBatch()
    Task(executorPreference: executor) {
      do {
        _ = try await connection.request(.createTasks(CreateTasks(session: self.identifier, tasks: tasks)))
        self.isSending = false
        self.created(batch, described: tasks)
      } catch is ServiceUnavailable {
        // The connection ended: they are handed over again after the next attachment.
        self.isSending = false
      } catch let refusal as Refusal where BackgroundEngine.isTemporary(refusal) {
        // Nothing is sent meanwhile. An attachment that comes first gathers anew what the service does not have.
        self.unsent.insert(contentsOf: batch, at: 0)
        await self.pauseAfterRefusal()
        self.isSending = false
        self.sendUnsent()
      } catch {
        self.isSending = false
        self.refused(batch, error)
      }
    }
  }

  private static let batchSize = 500
  /// Half of what a message may have, since the weight of a task is an estimate.
  private static let batchWeight = MessageFraming.maximumLength / 2

  /// The next tasks that fit into one message, at least one.
  private func nextBatch() -> (works: [BackgroundWork], tasks: [TransferDescription]) {
    var batch: [BackgroundWork] = []
    var tasks: [TransferDescription] = []
    var weight = 0
    var taken = 0
    for work in unsent.prefix(BackgroundEngine.batchSize) {
      guard let description = work.description() else {
        taken += 1
        finish(work, .failure(ErrorMapping.make(.badURL, because: "The task has no request.")))
        continue
      }
      weight += description.estimatedLength
      if weight > BackgroundEngine.batchWeight, !batch.isEmpty { break }
      taken += 1
      batch.append(work)
      tasks.append(description)
    }
    unsent.removeFirst(taken)
    return (batch, tasks)
  }

  /// Whether the service may take the same thing later: its disk is full, or it is about to be replaced.
  private static func isTemporary(_ refusal: Refusal) -> Bool { [.storage, .shuttingDown].contains(refusal.reason) }

  /// A disk takes a while to get better.
  private func pauseAfterRefusal() async {
    try? await executor.loop.scheduleTask(in: .seconds(5)) {}.futureResult.get()
  }

  private func created(_ batch: [BackgroundWork], described: [TransferDescription]) {
    for (work, description) in zip(batch, described) {
      work.isCreated = true
      work.toldHints = BackgroundWork.Hints(
        taskDescription: description.taskDescription, priority: description.priority)
      // What changed while the message was under way.
      tellHints(work)
      if description.startsImmediately == work.task.isSuspended { steer(work) }
      if work.task.presentState == .canceling { cancel(work) }
    }
    sendUnsent()
  }

  /// The service does not take them, or no message can be made of them.
  private func refused(_ batch: [BackgroundWork], _ error: any Error) {
    if batch.count > 1 {
      // One bad task must not take the others with it.
      for work in batch { sendAlone(work) }
    } else if let work = batch.first {
      finish(work, .failure(BackgroundEngine.failure(error)))
    }
    sendUnsent()
  }

  private static func failure(_ error: any Error) -> URLError {
    ErrorMapping.make(
      .unknown,
      because: (error as? Refusal)?.message ?? "The task can't be handed over to the transfer service: \(error)")
  }

  private func sendAlone(_ work: BackgroundWork) {
    guard let description = work.description() else { return }
    loneSends += 1
    send(.createTasks(CreateTasks(session: identifier, tasks: [description]))) { result in
      self.loneSends -= 1
      switch result {
      case .success: self.created([work], described: [description])
      // Handed over again after the next attachment.
      case .failure(is ServiceUnavailable): self.checkFlush()
      case .failure(let refusal as Refusal) where BackgroundEngine.isTemporary(refusal):
        self.unsent.append(work)
        self.sendAfterPause()
      case .failure(let error):
        self.finish(work, .failure(BackgroundEngine.failure(error)))
        self.checkFlush()
      }
    }
  }

  private func sendAfterPause() {
    guard !isSending else { return }
    isSending = true
    Task(executorPreference: executor) {
      await self.pauseAfterRefusal()
      self.isSending = false
      self.sendUnsent()
    }
  }

  private func checkFlush() {
    guard !isSending, loneSends == 0, unsent.isEmpty || isEnded else { return }
    if case nil = connection, !isEnded, works.values.contains(where: { !$0.isCreated }) { return }
    let waiting = flushWaiters
    flushWaiters = []
    for waiter in waiting { waiter() }
  }

  func steer(_ work: BackgroundWork) {
    guard work.isCreated else { return }
    let selection = TaskSelection(session: identifier, taskIdentifiers: [work.task.taskIdentifier])
    send(work.task.isSuspended ? .suspendTasks(selection) : .resumeTasks(selection))
  }

  /// Tells the service of a new description or priority.
  func tellHints(_ work: BackgroundWork) {
    let (hints, told) = (work.hints, work.toldHints)
    // Without a connection the next attachment compares again.
    guard work.isCreated, connection != nil, hints != told else { return }
    work.toldHints = hints
    var update = UpdateTask(session: identifier, taskIdentifier: work.task.taskIdentifier)
    if hints.taskDescription != told?.taskDescription { update.taskDescription = hints.taskDescription ?? "" }
    if hints.priority != told?.priority { update.priority = hints.priority }
    loneSends += 1
    send(.updateTask(update)) { result in
      self.loneSends -= 1
      if case .failure(let refusal as Refusal) = result, BackgroundEngine.isTemporary(refusal) {
        work.toldHints = told
        Task(executorPreference: self.executor) {
          await self.pauseAfterRefusal()
          self.tellHints(work)
        }
      }
      self.checkFlush()
    }
  }

  func cancel(_ work: BackgroundWork) {
    // A task that is still unsent is sent and then cancelled, so that its end comes as an event like any other.
    guard work.isCreated else { return }
    let isWanted = work.task.isAskedForResumeData
    let request = CancelTask(
      session: identifier, taskIdentifier: work.task.taskIdentifier, producingResumePoint: isWanted)
    guard isWanted, connection != nil else { return send(.cancelTask(request)) }
    work.awaitsResumePoint = true
    send(.cancelTask(request)) { result in
      Task(executorPreference: self.executor) { await self.cancelled(work, result) }
    }
  }

  private func cancelled(_ work: BackgroundWork, _ result: Result<ServiceReply, any Error>) async {
    if case .success(.cancelled(let answer)) = result, let point = answer.resumePoint {
      let task = work.task
      let data = try? await NIOThreadPool.singleton.runIfActive(eventLoop: executor.loop) {
        DownloadResumeData(point, of: task)?.encoded()
      }.get()
      work.resumeData = data ?? nil
    }
    work.awaitsResumePoint = false
    guard let end = work.pendingEnd else { return }
    work.pendingEnd = nil
    finish(work, end)
  }

  func acknowledge(_ sequences: [Int64]) {
    guard !sequences.isEmpty else { return }
    send(.acknowledge(Acknowledge(session: identifier, sequences: sequences))) { result in
      switch result {
      case .success:
        // It will not tell them again.
        self.seenSequences.subtract(sequences)
        self.handledSequences.subtract(sequences)
      case .failure(let refusal as Refusal) where refusal.reason == .storage:
        Task(executorPreference: self.executor) {
          await self.pauseAfterRefusal()
          self.acknowledge(sequences)
        }
      // It tells them again over the next connection, and is told again that they are handled.
      case .failure: break
      }
    }
  }

  private func send(
    _ request: ClientRequest, _ completion: (@Sendable (Result<ServiceReply, any Error>) -> Void)? = nil
  ) {
    guard let connection else {
      completion?(.failure(ServiceUnavailable(reason: "there is no connection at the moment")))
      return
    }
    Task(executorPreference: executor) {
      do {
        let reply = try await connection.request(request)
        completion?(.success(reply))
      } catch { completion?(.failure(error)) }
    }
  }

  // MARK: After a launch

  /// The app is through with the events it was launched for.
  static func doneHandlingEvents(ofSession identifier: String) async {
    let request = ClientRequest.doneHandlingEvents(SessionReference(session: identifier))
    let engine = engines.withLock { $0[identifier]?.engine }
    let attached = await engine?.currentConnection()
    do {
      let connection: ServiceConnection
      if let attached { connection = attached } else { connection = try await ServiceConnection.open() }
      _ = try await connection.request(request)
    } catch {
      // Not knowing that we are done, the service starts us again later: nothing is lost.
    }
  }

  private func currentConnection() async -> ServiceConnection? {
    await withCheckedContinuation { continuation in onLoop { continuation.resume(returning: $0.connection) } }
  }
}

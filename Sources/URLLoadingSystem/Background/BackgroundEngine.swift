import DequeModule
import Foundation
import HTTPTransport
import NIOCore
import SystemServices
import TransferProtocol

/// Runs the tasks of a background session in the transfer service and keeps the app's objects in step with it.
///
/// Three values decide: `ServiceLink` when to connect, `Outbox` what the service is told, `Inbox` what the app is told.
/// The engine performs their actions:
/// 1. `adopt` connects, starting the service if need be, attaches to the session by its identifier, makes task objects
///    for what the service already has, and asks for delivery (`BackgroundEngine+Attaching.swift`).
/// 2. Tasks are handed over at their first `resume()` (`BackgroundEngine+Requests.swift`).
/// 3. Events arrive numbered; each is acknowledged after the delegate has returned from the call it became
///    (`BackgroundEngine+Events.swift`).
/// 4. When the connection ends (the service was stopped, or killed) it is made again, and 1 repeats.
///
/// Confined to one loop, but for what is marked otherwise.
final class BackgroundEngine: TaskEngine, @unchecked Sendable {
  // Sendable by hand: what changes is confined to the loop, which is asserted.

  let identifier: String
  let options: SessionOptions
  /// The service has no cookies: they travel with the requests, and come back with the responses.
  let cookies: LoadCookies?
  let connector: any TransferConnecting
  let readiness = SessionReadiness()
  let identifiers = TaskIdentifiers()
  let executor = LoopExecutor.all[0]
  /// Why no message can hold the session's configuration.
  private let uncarriedProperty: URLError?

  // Confined to the loop.
  /// Kept until the session is invalidated: its tasks' events must find it, whether or not the app keeps it.
  var session: URLSession?
  var works: [Int: BackgroundWork] = [:]
  var link: ServiceLink
  /// Why tasks fail that the service does not have; nil unless it has not come for long.
  var absence: URLError?
  var outbox = Outbox(
    maximumCount: 500, maximumWeight: BackgroundEngine.maximumWeight, maximumFiles: FilePassing.mostFiles)
  var inbox: Inbox
  /// The present connection, once the session is attached through it.
  var connection: (any TransferConnection)?
  /// Requests of the app that the outbox is not told yet, in order.
  var arrivals = Deque<Arrival>()
  /// Whether the first arrival waits for a look at a file.
  var isLookingAtFile = false
  var flushWaiters: [@Sendable () -> Void] = []
  /// Whether the engine ends as soon as no event is being handled; its tasks stay with the service.
  var isLeaving = false
  /// Run when the session is attached through a new connection, and when the engine ends.
  private var attachmentWaiters: [@Sendable () -> Void] = []

  /// Half of what a message may have, since the weight of a task is an estimate.
  private static let maximumWeight = MessageFraming.maximumLength / 2
  /// A disk takes a while to get better.
  static let pauseAfterRefusal = TimeAmount.seconds(5)
  /// An app cancels many tasks in a loop.
  static let gatheringPause = TimeAmount.milliseconds(2)

  init(identifier: String, configuration: URLSessionConfiguration) {
    self.identifier = identifier
    inbox = Inbox(awaitsFinish: URLSessionApplication.shared.awaitsEvents(of: identifier))
    connector = configuration.transferConnector
    link = ServiceLink(tries: connector.tries)
    options = SessionOptions(configuration)
    cookies = LoadCookies(configuration)
    uncarriedProperty = configuration.uncarriedProperty()
  }

  /// Runs `work` behind the answers that came over the connection before it: each resumes a task on the loop, which runs in a
  /// turn of its own. What a task is told of its end would otherwise overtake the answer to a change of it.
  func afterAnswers(_ work: @escaping @Sendable (BackgroundEngine) -> Void) {
    executor.loop.execute { work(self) }
  }

  /// From any thread.
  func onLoop(_ action: @escaping @Sendable (BackgroundEngine) -> Void) {
    if executor.loop.inEventLoop { action(self) } else { executor.loop.execute { action(self) } }
  }

  func assertConfined() { executor.loop.assertInEventLoop() }

  // MARK: TaskEngine, from any thread

  func adopt(_ session: URLSession) {
    BackgroundEngines.add(self)
    onLoop { engine in
      engine.session = session
      engine.decide(.start)
    }
  }

  func reserveTaskIdentifier() -> Int? { identifiers.reserve() }

  func whenReady(_ action: @escaping @Sendable () -> Void) { readiness.whenSettled(action) }

  func makeWork(for task: URLSessionTask, from start: TaskStart) -> any TaskWork {
    BackgroundWork(engine: self, task: task, token: UUID().uuidString)
  }

  /// Done when the service has every task that was resumed so far, safe against a power failure.
  func flush(_ completion: @escaping @Sendable () -> Void) {
    onLoop { $0.arrived(.flush(completion)) }
  }

  /// The session is gone; the tasks stay with the service. An invalidated session is still to be forgotten by it.
  func shutDown() {
    onLoop { engine in
      if engine.link.purpose == .serveTasks { engine.decide(.end) }
    }
  }

  /// The session was invalidated and its last task has ended: the service forgets it. Where there is no connection at
  /// the moment, the next one tells it.
  func invalidated() {
    onLoop { engine in
      let session = engine.takeSession()
      if !engine.link.isEnded { BackgroundEngines.hold(engine) }
      engine.decide(.invalidate)
      withExtendedLifetime(session) {}
    }
  }

  // MARK: Tasks, on the loop

  /// - Parameter fileProblem: Why the file of the task's resume data can't be used; nil where it can, or there is none.
  func create(_ work: BackgroundWork, fileProblem: URLError?) {
    assertConfined()
    let rules = { BackgroundTaskRules.problem(with: work.task, fileProblem: fileProblem) }
    if let problem = readiness.failure ?? absence ?? uncarriedProperty ?? rules() {
      return finish(work, .failure(problem))
    }
    works[work.task.taskIdentifier] = work
    work.task.noteWaiting(.handingOver)
    perform(
      outbox.add(
        work.task.taskIdentifier, work.wanted, weight: work.weight, hasFile: work.fileToSend != nil))
  }

  /// The app changed something of the task that the service is to know.
  func changed(_ work: BackgroundWork, tellsSuspension: Bool = false) {
    assertConfined()
    perform(outbox.change(work.task.taskIdentifier, work.wanted, tellsSuspension: tellsSuspension))
  }

  // MARK: The link

  func decide(_ event: ServiceLink.Event) {
    assertConfined()
    switch link.handle(event) {
    case .nothing: break
    case .connect(let number, let purpose): connect(number, purpose)
    case .pause(let milliseconds): after(.milliseconds(milliseconds)) { $0.decide(.pauseEnded) }
    case .pauseWithoutService(let milliseconds, let sentence):
      failWithoutService(sentence)
      after(.milliseconds(milliseconds)) { $0.decide(.pauseEnded) }
    case .tellInvalidation: tellInvalidation()
    case .fail(let reason): fail(reason)
    case .release: release()
    }
  }

  func after(_ pause: TimeAmount, _ action: @escaping @Sendable (BackgroundEngine) -> Void) {
    executor.loop.scheduleTask(in: pause) { action(self) }
  }

  private func release() {
    disconnect()
    let session = takeSession()
    for work in works.values { work.endReplacements() }
    runFlushWaiters()
    BackgroundEngines.remove(self)
    runAttachmentWaiters()
    withExtendedLifetime(session) {}
  }

  /// The caller lets go of the session once the engine has changed its state: a session that is released calls the
  /// engine.
  private func takeSession() -> URLSession? {
    assertConfined()
    defer { session = nil }
    return session
  }

  /// The session can't be used: every task fails, and so will later ones.
  private func fail(_ reason: ServiceLink.FinalReason) {
    let error =
      switch reason {
      case .heldElsewhere(let sentence):
        ErrorMapping.make(.backgroundSessionInUseByAnotherProcess, because: sentence)
      case .disconnected(let sentence): ErrorMapping.make(.backgroundSessionWasDisconnected, because: sentence)
      }
    // Waiters for the session may end it.
    session?.noteInvalidity(error)
    readiness.fail(error)
    for work in works.values { finish(work, .failure(error)) }
    session?.becomeInvalid(with: error)
    release()
  }

  /// Returns a connection through which the session is attached, other than `earlier`; waits for it. nil when the engine
  /// has ended.
  func attachedConnection(otherThan earlier: (any TransferConnection)?) async -> (any TransferConnection)? {
    while true {
      assertConfined()
      if link.isEnded { return nil }
      if let connection, connection !== earlier { return connection }
      await withCheckedContinuation { continuation in
        attachmentWaiters.append { continuation.resume() }
      }
    }
  }

  func runAttachmentWaiters() {
    assertConfined()
    let waiting = attachmentWaiters
    attachmentWaiters = []
    for waiter in waiting { waiter() }
  }

  func runFlushWaiters() {
    let waiting = flushWaiters
    flushWaiters = []
    for waiter in waiting { waiter() }
  }
}

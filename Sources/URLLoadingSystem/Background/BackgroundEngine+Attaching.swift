import Foundation
import NIOCore
import TransferProtocol

extension BackgroundEngine {
  /// Connects and attaches the session.
  func connect(_ number: Int, _ purpose: ServiceLink.Purpose) {
    assertConfined()
    Task(executorPreference: executor) {
      do {
        let connection = try await self.connector.open(
          onPush: { [weak self] push in self?.afterAnswers { $0.received(push, over: number) } },
          onClose: { [weak self] in self?.afterAnswers { $0.closed(number) } })
        do {
          try await self.attach(over: connection, number, purpose)
        } catch {
          connection.close()
          throw error
        }
        self.decide(.attached(connection: number))
        self.executor.loop.scheduleTask(in: .seconds(ServiceLink.usefulAge)) { [weak self] in
          self?.decide(.wasUseful(connection: number))
        }
      } catch {
        guard self.link.isPresent(number) else { return }
        self.disconnect()
        let failure = self.failure(error)
        self.noteUnavailability(failure, error)
        self.decide(.failed(connection: number, failure))
      }
    }
  }

  private func attach(
    over connection: any TransferConnection, _ number: Int, _ purpose: ServiceLink.Purpose
  ) async throws {
    try check(number)
    let request = Attach(
      session: identifier, options: options,
      isOfLaunch: URLSessionApplication.shared.launchSessionIdentifier != nil, answersDelayedRequests: true)
    let reply = try await answer(to: .attach(request), over: connection)
    guard case .attached(let attached) = reply else {
      throw ServiceUnavailable(reason: "its answer was of another kind")
    }
    try check(number)
    self.connection = connection
    absence = nil
    guard purpose == .serveTasks else { return }
    let known = try await reconcile(attached.page, over: connection, number)
    identifiers.raise(to: attached.nextTaskIdentifier)
    perform(outbox.attached(known))
    for action in inbox.attached(willFinish: attached.willFinishEvents) { perform(action) }
    // Waiters for the session may end it.
    readiness.succeed()
    runAttachmentWaiters()
    _ = try await answer(to: .startDelivery(SessionReference(session: identifier)), over: connection)
    try check(number)
    perform(outbox.deliveryStarted())
  }

  /// A connection over which no answer comes for a while is ended.
  private func answer(
    to request: ClientRequest, over connection: any TransferConnection, meanwhile: () -> Void = {}
  ) async throws -> ServiceReply {
    let timer = executor.loop.scheduleTask(in: connector.patience) { connection.close() }
    defer { timer.cancel() }
    return try await connection.request(request, passing: [], meanwhile: meanwhile)
  }

  /// Takes in every task that the service has: each page while the service makes the next one.
  private func reconcile(
    _ first: TaskPage, over connection: any TransferConnection, _ number: Int
  ) async throws -> [Int: KnownTask] {
    var known: [Int: KnownTask] = [:]
    var page = first
    while let next = page.next {
      let request = ClientRequest.sessionTasks(SessionTasks(session: identifier, after: next))
      // Behind the request, and not in a task of its own: what the service tells of the next page's tasks must find them.
      let reply = try await answer(to: request, over: connection) { known.merge(takeIn(page)) { $1 } }
      try check(number)
      guard case .tasks(let more) = reply else { return known }
      page = more
    }
    known.merge(takeIn(page)) { $1 }
    inbox.listed(all: Set(known.keys))
    return known
  }

  private func takeIn(_ page: TaskPage) -> [Int: KnownTask] {
    assertConfined()
    var known: [Int: KnownTask] = [:]
    var over: [Int] = []
    for snapshot in page.tasks {
      let task = snapshot.description.taskIdentifier
      known[task] = snapshot.known
      if works[task] == nil, inbox.wasTold(of: task) {
        // Over for the app. The service waits for an acknowledgement that it will be given again, or has lost its queue, and
        // with it that the task is over. One whose end was left to a process with a delegate goes on for that.
        if snapshot.status.state != .completed, !inbox.isLeft(task) { over.append(task) }
      } else {
        reconcile(snapshot)
      }
    }
    if !over.isEmpty {
      send(.cancelTasks(TaskSelection(session: identifier, taskIdentifiers: over))) { _, _ in }
    }
    return known
  }

  /// A task that the service has: known here already, or made by an earlier process of this app.
  private func reconcile(_ snapshot: TransferSnapshot) {
    let description = snapshot.description
    if let work = works[description.taskIdentifier] {
      if work.token == description.token { return catchUp(work, snapshot) }
      // By chance, after the clock was set back.
      let error = ErrorMapping.make(
        .unknown, because: "An earlier process of this program made a task of the same identifier.")
      finish(work, .failure(error))
    }
    guard let session, let request = description.request.urlRequest else { return }
    let restored = session.restoreTask(
      description.restoredKind, identifier: description.taskIdentifier, request: request
    ) { task in
      BackgroundWork(engine: self, task: task, token: description.token)
    } configure: { state in
      description.decode(into: &state)
    } suspensions: {
      snapshot.status.state == .suspended ? 1 : 0
    }
    guard let restored else { return }
    works[description.taskIdentifier] = restored
    outbox.adopt(description.taskIdentifier, restored.wanted, known: snapshot.known, weight: restored.weight)
    adopt(snapshot, restored)
  }

  private func adopt(_ snapshot: TransferSnapshot, _ work: BackgroundWork) {
    work.state.transfer = snapshot.status.transfer
    work.adopt(
      received: snapshot.status.countOfBytesReceived, expected: snapshot.status.countOfBytesExpectedToReceive)
    work.adopt(snapshot.response)
    work.adopt(sent: snapshot.status.countOfBytesSent, expected: snapshot.status.countOfBytesExpectedToSend)
    guard snapshot.status.state != .completed else { return }
    work.task.noteWaiting(snapshot.status.waiting.map { TransferWaitingReason($0) })
  }

  /// Tells the delegate what it was not told while there was no connection: bytes that arrived, or that come again.
  private func catchUp(_ work: BackgroundWork, _ snapshot: TransferSnapshot) {
    let status = snapshot.status
    if status.state != .completed {
      let (received, expected) = (status.countOfBytesReceived, status.countOfBytesExpectedToReceive)
      if received < work.task.bytesReceived.load(ordering: .relaxed) {
        resumed(work, at: received, expected: expected)
      } else {
        progressed(work, to: received, expected: expected)
      }
      if let count = status.countOfBytesSent {
        sent(work, to: count, expected: status.countOfBytesExpectedToSend ?? -1)
      }
    }
    adopt(snapshot, work)
  }

  // MARK: The end of a connection

  private func closed(_ number: Int) {
    guard link.isPresent(number) else { return }
    disconnect()
    decide(.closed(connection: number))
  }

  func disconnect() {
    assertConfined()
    connection?.close()
    connection = nil
    withdrawQuestions()
    outbox.detached()
    inbox.detached()
  }

  func tellInvalidation() {
    // The app may have made the session anew: then its tasks belong to the newer engine.
    guard let newest = BackgroundEngines.engine(of: identifier), newest === self, let connection else {
      return decide(.invalidated)
    }
    Task(executorPreference: executor) {
      do {
        _ = try await connection.request(.invalidate(SessionReference(session: self.identifier)))
        self.decide(.invalidated)
      } catch let refusal as Refusal where !refusal.isTemporary {
        // The service would refuse it over every connection.
        self.decide(.invalidated)
      } catch {
        // The connection ends, and the next one tells it.
        connection.close()
      }
    }
  }

  // MARK: Failures

  /// Something else has become of the engine while a connection was being made.
  private struct Outdated: Error {}

  private func check(_ number: Int) throws {
    guard link.isPresent(number) else { throw Outdated() }
  }

  private func failure(_ error: any Error) -> ServiceLink.Failure {
    guard let refusal = error as? Refusal else {
      let unavailable = error as? ServiceUnavailable
      return .unavailable(
        "\(error)", hasTasks: outbox.hasCreated,
        hasQueue: unavailable?.hasQueue ?? false,
        isExpected: unavailable.map { $0.hasListened || $0.isSilent } ?? false)
    }
    if refusal.reason == .inUse {
      // Of two processes that were started for events the other one handles them.
      let isOfLaunch = URLSessionApplication.shared.launchSessionIdentifier != nil
      return .heldElsewhere(refusal.message, forEvents: refusal.holderIsOfLaunch == true && !isOfLaunch)
    }
    if refusal.reason == .incompatibleVersion, refusal.mustUpdate == .service {
      // A newer one goes on with the tasks in its queue, once it is installed or this one ends.
      return .unavailable(refusal.message, hasTasks: outbox.hasCreated, hasQueue: true, isExpected: true)
    }
    return refusal.isTemporary ? .temporary : .refused(refusal.message)
  }

  /// Tasks that the service does not have yet say why.
  private func noteUnavailability(_ failure: ServiceLink.Failure, _ error: any Error) {
    let sentence: String
    switch (failure, error as? Refusal) {
    case (.unavailable(let reason, _, _, _), _): sentence = reason
    // Too many connections, or a storage that can't be used: that may last.
    case (.temporary, let refusal?) where refusal.reason == .storage: sentence = refusal.message
    case (.heldElsewhere(let reason, _), _): sentence = reason
    default: return
    }
    for work in works.values where !outbox.isCreated(work.task.taskIdentifier) {
      work.task.noteWaiting(.handingOver(because: sentence))
    }
  }

  /// The service does not come. Tasks that may be in its queue are waited for; those of this process are told why they can't
  /// begin.
  func failWithoutService(_ sentence: String) {
    assertConfined()
    let error = ErrorMapping.make(.backgroundSessionWasDisconnected, because: sentence)
    absence = error
    for work in works.values where !outbox.isCreated(work.task.taskIdentifier) { finish(work, .failure(error)) }
  }
}

extension TransferSnapshot {
  fileprivate var known: KnownTask {
    KnownTask(
      isSuspended: status.state == .suspended,
      hints: TaskHints(description),
      isOver: status.state == .completed)
  }
}

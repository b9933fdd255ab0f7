import Foundation
import HTTPSemantics
import HTTPTransport
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A background session whose transfer service is in this process.
@Suite struct BackgroundEngineTests {
  private let service: FakeTransferService
  private let delegate = RecordingDelegate()
  private let session: URLSession
  private let url: URL
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("engine-\(UUID().uuidString)")

  init() throws {
    try self.init(FakeTransferService())
  }

  private init(_ service: FakeTransferService) throws {
    self.service = service
    url = try #require(URL(string: "http://example.com/file"))
    session = BackgroundEngineTests.session(service, delegate)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private static func session(
    _ service: FakeTransferService, _ delegate: RecordingDelegate?,
    _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "engine-\(UUID().uuidString)")
    configuration.transferConnector = service
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func file(_ name: String) throws -> String {
    let file = folder.appendingPathComponent(name)
    try Data("file".utf8).write(to: file)
    return file.path
  }

  private func end(_ service: FakeTransferService? = nil, _ session: URLSession? = nil) async throws {
    (session ?? self.session).invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
    try FileManager.default.removeItem(at: folder)
  }

  /// The numbers that are acknowledged next.
  private func nextAcknowledgement() async throws -> [Int64] {
    try await service.next { if case .acknowledge(let body) = $0 { body.sequences } else { nil } }
  }

  @Test func aTaskGoesToTheServiceAndItsEventsToTheDelegate() async throws {
    let task = session.downloadTask(with: url)
    task.taskDescription = "label"
    task.resume()
    let sent = try #require(try await service.nextCreation().first)
    #expect(sent.request.url == url.absoluteString && sent.taskDescription == "label" && sent.startsImmediately)
    #expect(sent.taskIdentifier == task.taskIdentifier)
    service.end(task.taskIdentifier, path: try file("a"))
    #expect(try await nextAcknowledgement() == [1, 2])
    #expect(delegate.summary == ["created", "metrics", "file", "completed"])
    #expect(task.state == .completed && (task.response as? HTTPURLResponse)?.statusCode == 200)
    try await end()
  }

  @Test func theNumberOfATaskIsKnownOnceItIsOver() async throws {
    let task = session.downloadTask(with: url)
    #expect(await task.transferNumber() == nil)
    task.resume()
    let number = task.transferNumber
    await session.flush()
    service.end(task.taskIdentifier, path: try file("a"))
    _ = try await nextAcknowledgement()
    #expect(await number() == Int64(task.taskIdentifier))
    try await end()
  }

  /// The numbers that are left to the service next.
  private func nextKept(_ service: FakeTransferService) async throws -> [Int64] {
    try await service.next { if case .keepEvents(let body) = $0 { body.sequences } else { nil } }
  }

  /// Runs `body` with a session without a delegate, and with a task of it whose end was left to the service.
  private func withKeptEnd(
    _ body: (FakeTransferService, URLSession, URLSessionDownloadTask) async throws -> Void
  ) async throws {
    let service = FakeTransferService()
    let session = Self.session(service, nil)
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.end(task.taskIdentifier, path: try file("a"))
    #expect(try await nextKept(service) == [1, 2])
    try await body(service, session, task)
    session.invalidateAndCancel()
    try await end()
  }

  /// Else the service would send no more than its window.
  @Test func eventsThatNoDelegateTakesAreLeftToTheService() async throws {
    try await withKeptEnd { service, _, task in
      // The service is told from another thread than the one that ends the task.
      try await eventually("the end of the task") { task.state == .completed }
      #expect(service.withState { $0.log.count } == 2)
    }
  }

  /// A process with a delegate is to be told: a service that has lost its queue goes on with the task for that.
  @Test func aTaskWhoseEndWasLeftIsNotCancelledWhereItsQueueIsLost() async throws {
    try await withKeptEnd { service, session, task in
      service.withState { state in
        state.lastSequence += 1_000
        state.states[task.taskIdentifier] = .running
        state.log = []
      }
      service.withState { $0.connection }?.end()
      session.downloadTask(with: url).resume()
      _ = try await service.nextCreation()
      service.end(task.taskIdentifier, path: try file("b"))
      #expect(try await nextKept(service).allSatisfy { $0 > 1_000 })
      #expect(!service.requests.all.contains { if case .cancelTasks = $0 { true } else { false } })
    }
  }

  /// The service was gone before it had the acknowledgement: it tells again, and the app hears nothing of it.
  @Test(arguments: [false, true]) func eventsThatAreToldAgainAreDeliveredOnce(answerIsLost: Bool) async throws {
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.fail("acknowledge", answerIsLost ? .loseAnswer : .loseRequest)
    service.end(task.taskIdentifier, path: try file("a"))
    if answerIsLost { _ = try await nextAcknowledgement() }
    #expect(try await nextAcknowledgement() == [1, 2])
    try await eventually("the log to be empty") { service.withState { $0.log.isEmpty } }
    #expect(delegate.events.all.count { $0 == "completed" } == 1 && delegate.events.all.count { $0 == "file" } == 1)
    try await end()
  }

  /// The service has lost its queue meanwhile, with the acknowledgement, and has made it again: with events of other numbers,
  /// or with a task that is not over.
  @Test(arguments: [true, false]) func whatTheServiceHasMadeAnewIsDeliveredOnce(isOver: Bool) async throws {
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    let isLost = Gate()
    service.fail("acknowledge", .loseRequestFirst(isLost))
    service.end(task.taskIdentifier, path: try file("a"))
    try await eventually("the end to be told") { delegate.summary.contains("completed") }
    service.withState { state in
      state.lastSequence += 1_000
      guard isOver else {
        state.states[task.taskIdentifier] = .suspended
        return state.log = []
      }
      state.log = state.log.map { event in
        var event = event
        event.sequence += 1_000
        return event
      }
    }
    isLost.open()
    var acknowledged = Set(try await nextAcknowledgement())
    #expect(acknowledged.isSuperset(of: [1, 2]))
    while acknowledged.count < (isOver ? 4 : 3) { acknowledged.formUnion(try await nextAcknowledgement()) }
    try await eventually("the log to be empty") { service.withState { $0.log.isEmpty } }
    #expect(service.withState { $0.states[task.taskIdentifier] } == .completed)
    #expect(delegate.events.all.count { $0 == "completed" } == 1 && delegate.events.all.count { $0 == "file" } == 1)
    try await end()
  }

  /// Whichever message is lost, and on which way: the task is created once, ends once, and everything is acknowledged.
  @Test(arguments: ["attach", "startDelivery", "createTasks", "acknowledge"], [false, true])
  func aLostMessageLosesNoTask(name: String, answerIsLost: Bool) async throws {
    let service = FakeTransferService()
    service.fail(name, answerIsLost ? .loseAnswer : .loseRequest)
    let session = Self.session(service, delegate)
    let tasks = (0..<3).map { _ in session.downloadTask(with: url) }
    for task in tasks { task.resume() }
    await session.flush()
    #expect(service.withState { $0.tasks.count } == 3)
    for (index, task) in tasks.enumerated() {
      service.end(task.taskIdentifier, path: try file("\(index)"))
    }
    try await eventually("the log to be empty") { service.withState { $0.log.isEmpty } }
    #expect(delegate.events.all.count { $0 == "completed" } == 3 && delegate.events.all.count { $0 == "file" } == 3)
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  /// A service that hangs is left, and the next connection serves the session.
  @Test(arguments: ["attach", "startDelivery"])
  func aConnectionWithoutAnAnswerIsEnded(name: String) async throws {
    let service = FakeTransferService(patience: .milliseconds(200))
    service.fail(name, .holdAnswer)
    let session = Self.session(service, delegate)
    session.downloadTask(with: url).resume()
    try await within(patience, "the flush") { await session.flush() }
    #expect(service.withState { $0.tasks.count } == 1)
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  @Test func whatTheAppAskedForWithoutAConnectionIsToldOverTheNext() async throws {
    let tasks = (0..<2).map { _ in session.downloadTask(with: url) }
    for task in tasks { task.resume() }
    await session.flush()
    service.fail("suspendTasks", .loseRequest)
    tasks[0].suspend()
    tasks[1].taskDescription = "new"
    let suspended = try await service.next {
      if case .suspendTasks(let tasks) = $0 { tasks.taskIdentifiers } else { nil }
    }
    #expect(suspended == [tasks[0].taskIdentifier])
    try await eventually("the description to arrive") {
      service.requests.all.contains {
        if case .updateTask(let update) = $0 { update.taskDescription == "new" } else { false }
      }
    }
    try await end()
  }

  @Test func datesAndCountsThatChangeAreTold() async throws {
    let task = session.downloadTask(with: url)
    task.earliestBeginDate = Date(timeIntervalSince1970: 5)
    task.resume()
    await session.flush()
    func update() async throws -> UpdateTask {
      try await service.next { if case .updateTask(let update) = $0 { update } else { nil } }
    }
    task.earliestBeginDate = Date(timeIntervalSince1970: 9)
    #expect(try await update().earliestBeginDate == Date(timeIntervalSince1970: 9))
    task.countOfBytesClientExpectsToSend = 3
    #expect(try await update().countOfBytesClientExpectsToSend == 3)
    task.countOfBytesClientExpectsToReceive = 4
    let last = try await update()
    #expect(last.countOfBytesClientExpectsToReceive == 4 && last.earliestBeginDate == nil && last.priority == nil)
    task.earliestBeginDate = nil
    #expect(try await update().earliestBeginDate == .distantPast)
    await session.flush()
    try await end()
  }

  /// Its file is looked at on another thread; what is asked for meanwhile waits.
  @Test func aTaskWithResumeDataKeepsItsPlace() async throws {
    let name = try TemporaryFile.keep(Data("abc".utf8))
    defer { TemporaryFile.remove(TemporaryFile.directory.appendingPathComponent(name)) }
    let request = RequestDescription(URLRequest(url: url))
    let data = DownloadResumeData(
      originalRequest: request, currentRequest: request, bytesReceived: 3, expectedTotal: nil,
      validator: ResumeValidator(entityTag: "\"1\"", lastModified: nil, isLastModifiedStrong: false), fileName: name)
    let tasks = [session.downloadTask(withResumeData: try #require(data.encoded())), session.downloadTask(with: url)]
    for task in tasks { task.resume() }
    await session.flush()
    let sent = service.requests.all.flatMap { request -> [TransferDescription] in
      if case .createTasks(let creation) = request { creation.tasks } else { [] }
    }
    #expect(sent.map(\.taskIdentifier) == tasks.map(\.taskIdentifier))
    #expect(sent.first?.resumePoint?.offset == 3)
    try await end()
  }

  /// A service that can't be reached keeps no thread waiting.
  @Test func aTaskIsMadeWithoutWaitingForTheService() async throws {
    let service = FakeTransferService(isReachable: false)
    let session = Self.session(service, delegate)
    let tasks = (0..<100).map { _ in session.downloadTask(with: url) }
    #expect(Set(tasks.map(\.taskIdentifier)).count == 100)
    tasks[0].resume()
    #expect(service.requests.all.isEmpty)
    service.isReachable.open()
    #expect(try await service.nextCreation().map(\.taskIdentifier) == [tasks[0].taskIdentifier])
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  /// A service that can't be reached yet, and has tasks of the session.
  private func serviceWithTasks(_ count: Int, pageLength: Int) -> FakeTransferService {
    let service = FakeTransferService(isReachable: false)
    service.withState { state in
      for task in 1...count {
        state.tasks[task] = TransferDescription(
          token: "t", taskIdentifier: task, request: RequestDescription(url: url.absoluteString))
      }
      state.pageLength = pageLength
    }
    return service
  }

  /// The service makes a page while the app takes in the one before.
  @Test func eachPageOfTasksIsAskedForBeforeTheLastOneIsTakenIn() async throws {
    let service = serviceWithTasks(5, pageLength: 2)
    let session = Self.session(service, delegate)
    let counts = Recorder<Int>()
    service.withState { state in
      state.onRequest = { request in
        if case .sessionTasks = request { counts.record(session.registry.going().count) }
      }
    }
    service.isReachable.open()
    #expect(await session.allTasks.map(\.taskIdentifier).sorted() == [1, 2, 3, 4, 5])
    // Before the first page, and before the second one.
    #expect(counts.all == [0, 2])
    service.withState { $0.onRequest = nil }
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  /// The page before was taken in; the next connection lists all again.
  @Test func aPageOfTasksThatDoesNotComeIsAskedForOverTheNextConnection() async throws {
    let service = serviceWithTasks(3, pageLength: 1)
    service.fail("sessionTasks", .loseAnswer)
    let session = Self.session(service, delegate)
    service.isReachable.open()
    #expect(await session.allTasks.map(\.taskIdentifier).sorted() == [1, 2, 3])
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  @Test func tasksOfAnEarlierProcessAreThereAndCanBeCancelled() async throws {
    let service = FakeTransferService()
    var request = URLRequest(url: url)
    request.requiresDNSSECValidation = true
    var description = TransferDescription(token: "t", taskIdentifier: 5, request: RequestDescription(request))
    description.taskDescription = "earlier"
    description.priority = 0.75
    description.earliestBeginDate = Date(timeIntervalSince1970: 5)
    description.countOfBytesClientExpectsToSend = 6
    description.countOfBytesClientExpectsToReceive = 7
    service.withState {
      $0.tasks[5] = description
      $0.willFinishEvents = true
    }
    let session = Self.session(service, delegate)
    let task = try #require(await session.allTasks.first)
    #expect(task.taskIdentifier == 5 && task.taskDescription == "earlier" && task.originalRequest == request)
    #expect(task.priority == 0.75 && task.earliestBeginDate == Date(timeIntervalSince1970: 5))
    #expect(task.countOfBytesClientExpectsToSend == 6 && task.countOfBytesClientExpectsToReceive == 7)
    #expect(session.downloadTask(with: url).taskIdentifier == 6)
    task.cancel()
    let cancelled = try await service.next { if case .cancelTask(let body) = $0 { body.taskIdentifier } else { nil } }
    #expect(cancelled == 5)
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.map(\.code) == [.cancelled])
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  @Test func aRefusalEndsTheSession() async throws {
    let service = FakeTransferService(isReachable: false)
    service.fail("attach", .refuse(Refusal(.incompatibleVersion, "Too old.")))
    let session = Self.session(service, delegate)
    let task = session.downloadTask(with: url)
    task.resume()
    // Not before: a session that has ended tells of no task.
    service.isReachable.open()
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.map(\.code) == [.backgroundSessionWasDisconnected])
    #expect(delegate.errors.all.map(\.localizedDescription) == ["Too old."])
    try await end(service, session)
  }

  /// Other processes of the program have as many connections as it may have.
  @Test func aSessionWaitsForAPlace() async throws {
    let service = FakeTransferService(isReachable: false)
    let reasons = Recorder<TransferWaitingReason?>()
    let session = Self.session(service, delegate)
    for _ in 1...4 { service.fail("attach", .refuse(.tooManyConnections("/a has 2 connections already."))) }
    let task = session.downloadTask(with: url)
    service.withState {
      $0.onRequest = { request in if case .attach = request { reasons.record(task.reasonForWaiting) } }
    }
    task.resume()
    service.isReachable.open()
    #expect(try await service.nextCreation().map(\.taskIdentifier) == [task.taskIdentifier])
    #expect(task.error == nil)
    #expect(reasons.all.last??.description.contains("/a has 2 connections already.") == true)
    try await end(service, session)
  }

  @Test func anInvalidatedSessionIsForgottenByTheService() async throws {
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.fail("invalidate", .loseRequest)
    session.finishTasksAndInvalidate()
    service.end(task.taskIdentifier, path: try file("a"))
    try await eventually("the session to be forgotten") { service.withState { $0.isInvalidated } }
    try await end()
  }

  /// The app has let go of the session, and hears last that the connection is over.
  @Test func theServiceForgetsASessionThatNothingElseHolds() async throws {
    let (service, delegate) = (FakeTransferService(), RecordingDelegate())
    var session: URLSession? = Self.session(service, delegate)
    _ = try await service.next { if case .startDelivery = $0 { true } else { nil } }
    let isHeard = Gate()
    service.fail("invalidate", .loseRequestFirst(isHeard))
    let connection = try #require(service.withState { $0.connection })
    session?.invalidateAndCancel()
    session = nil
    try await delegate.invalid.wait(within: patience)
    try await connection.isClosed.wait(within: patience)
    // What closed the connection ends with this turn of the loop.
    try await LoopExecutor.all[0].loop.submit {}.get()
    isHeard.open()
    try await eventually("the session to be forgotten") { service.withState { $0.isInvalidated } }
    try await end()
  }

  @Test func anInvalidationThatIsRefusedIsNotRepeated() async throws {
    _ = try await service.next { if case .startDelivery = $0 { true } else { nil } }
    service.fail("invalidate", .refuse(Refusal(.invalidRequest, "No.")))
    try await end()
    let identifier = try #require(session.configuration.identifier)
    try await eventually("the engine to end") { BackgroundEngines.engine(of: identifier) == nil }
    let count = service.requests.all.count { if case .invalidate = $0 { true } else { false } }
    #expect(count == 1)
  }

  // MARK: The end of a launch

  private static func done(_ request: ClientRequest) -> String? {
    if case .doneHandlingEvents(let reference) = request { reference.session } else { nil }
  }

  private static func tellDone(_ identifier: String, _ service: FakeTransferService) async {
    await BackgroundEngine.doneHandlingEvents(ofSession: identifier, connector: service)
  }

  /// The service was gone between the last acknowledgement and this.
  @Test func theServiceIsToldThatTheAppIsDoneOnceTheSessionIsAttached() async throws {
    let service = FakeTransferService(isReachable: false)
    service.withState { $0.refusesUnattached = true }
    let session = Self.session(service, delegate)
    let identifier = try #require(session.configuration.identifier)
    async let told: Void = Self.tellDone(identifier, service)
    service.isReachable.open()
    await told
    #expect(service.requests.all.compactMap(Self.done) == [identifier])
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  @Test(arguments: [false, true]) func theServiceIsToldAgainThatTheAppIsDoneWhenTheConnectionEnds(
    answerIsLost: Bool
  ) async throws {
    service.withState { $0.refusesUnattached = true }
    service.fail("doneHandlingEvents", answerIsLost ? .loseAnswer : .loseRequest)
    let identifier = try #require(session.configuration.identifier)
    await Self.tellDone(identifier, service)
    #expect(service.requests.all.compactMap(Self.done).count == (answerIsLost ? 2 : 1))
    try await end()
  }

  @Test func anAppWithoutTheSessionIsDoneOverAConnectionOfItsOwn() async throws {
    let service = FakeTransferService()
    await Self.tellDone("unmade", service)
    #expect(service.requests.all == [.doneHandlingEvents(SessionReference(session: "unmade"))])
    try await end()
  }

  /// The program may end though the service can't be reached.
  @Test(arguments: [false, true]) func theAppDoesNotWaitForEverToSayThatItIsDone(hasSession: Bool) async throws {
    let service = FakeTransferService(isReachable: false)
    let session = hasSession ? Self.session(service, delegate) : nil
    try await within(patience, "the end") {
      await BackgroundEngine.doneHandlingEvents(
        ofSession: session?.configuration.identifier ?? "unmade", connector: service, patience: .milliseconds(1))
    }
    #expect(service.requests.all.isEmpty)
    service.isReachable.open()
    self.session.invalidateAndCancel()
    try await end(service, session)
  }

  @Test func whatNoMessageHoldsFailsTheTask() async throws {
    var request = URLRequest(url: url)
    request.httpBodyStream = InputStream(data: Data())
    session.downloadTask(with: request).resume()
    try await delegate.done.wait(within: patience)
    #expect(delegate.errors.all.map(\.code) == [.requestBodyStreamExhausted])

    let other = RecordingDelegate()
    let relayed = Self.session(service, other) { $0.proxyConfigurations = [ProxyConfiguration(relayHops: [])] }
    relayed.downloadTask(with: url).resume()
    try await other.done.wait(within: patience)
    #expect(other.errors.all.map(\.code) == [.cannotConnectToHost])
    relayed.invalidateAndCancel()
    #expect(service.withState { $0.tasks.isEmpty })
    try await end()
  }
}

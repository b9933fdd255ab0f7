import Foundation
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Retries, suspension, cancelling, and lives after a crash.
@Suite struct EngineRunningTests {
  private static let mebi: Int64 = 1 << 20

  private func addressNobodyServes() throws -> String { "http://127.0.0.1:\(try UnservedPort.shared.get().number)/f" }

  private func serve(_ resource: FileResource) async throws -> LoopbackServer {
    try await LoopbackServer.start { resource.reply(to: $0) }
  }

  @Test func aCutIsRetriedAndSaysWhy() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    let waiting = try #require(try await client.nextState(.waiting).waiting)
    #expect(waiting.code == "retry" && waiting.sentence.contains("lost"))
    let next = try #require(waiting.nextAttempt)
    #expect((0.0...1.0).contains(next.timeIntervalSince(fixture.clock.date)))
    // The wall clock has no say in it.
    fixture.clock.setWallClock(forward: 86_400)
    fixture.engine.poke()
    await fixture.settle()
    #expect(resource.served.count == 1)
    fixture.clock.advance(by: 1)
    fixture.engine.poke()
    let resumed = try await client.next { if case .resumedAtOffset(let report) = $0 { report } else { nil } }
    #expect(resumed.offset == Self.mebi && resumed.expectedTotal == 2 * Self.mebi)
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    #expect(resource.bytesSent == 2 * Self.mebi)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func aNetworkThatComesBackEndsTheWait() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture { $0.networkSettling = 0 }
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    _ = try await client.nextState(.waiting)
    // No time passes on the service's clock.
    fixture.engine.networkChanged()
    #expect(try await client.nextEvent().download != nil)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func progressIsTold() async throws {
    let resource = FileResource(size: Self.mebi)
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    let response = try await client.next { if case .responseReceived(let report) = $0 { report.response } else { nil } }
    #expect(response.status == 200 && response.expectedContentLength == Self.mebi)
    let last = try await client.next {
      if case .progress(let report) = $0, report.totalBytesWritten == Self.mebi { report } else { nil }
    }
    #expect(last.totalBytesExpectedToWrite == Self.mebi)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func theTimeForTheWholeResourceEnds() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    var options = SessionOptions()
    options.timeoutIntervalForResource = 100
    let client = fixture.client()
    try await client.begin("s", options: options)
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    _ = try await client.nextState(.waiting)
    fixture.clock.advance(by: 101)
    fixture.engine.poke()
    let completion = try #require(try await client.nextEvent().completion)
    #expect(completion.failure?.code == URLError.Code.timedOut.rawValue)
    #expect(fixture.names("partial") == [])
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func theEarliestDateIsWaitedFor() async throws {
    let server = try await serve(FileResource(size: 10))
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    var description = TransferDescription.download(server.url("/f").absoluteString)
    description.earliestBeginDate = fixture.clock.date + 3_600
    let id = try await client.create([description])[0]
    await fixture.settle()
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      Issue.record("refused")
      return
    }
    #expect(shown.status.state == .waiting && shown.status.waiting?.code == "earliestBegin")
    #expect(server.requests.isEmpty)
    fixture.clock.advance(by: 3_600)
    fixture.engine.poke()
    #expect(try await client.nextEvent().download != nil)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func aSuspendedTransferKeepsItsBytes() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
    _ = try await client.next { if case .progress = $0 { true } else { nil } }
    try await client.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1, 77])))
    try await server.waitForOpenConnections(0)
    try await eventually("the bytes to be committed") {
      try fixture.store.transfer(id)?.head.committedOffset ?? 0 > 0
    }
    #expect(try fixture.store.transfer(id)?.head.state == .suspended)
    try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    #expect(resource.served.map(\.status) == [200, 206])
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func suspendAndResumeInOneBreathLoseNothing() async throws {
    let resource = FileResource(size: 3 * Self.mebi)
    resource.update { $0.bytesPerSecond = Int(20 * Self.mebi) }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    let selection = TaskSelection(session: "s", taskIdentifiers: [1])
    for _ in 1...10 {
      try await client.ask(.suspendTasks(selection))
      try await client.ask(.resumeTasks(selection))
    }
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 3 * Self.mebi) == nil)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func cancellingIsAnEvent() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([
      .download(server.url("/f").absoluteString), .download("http://h/", task: 2, running: false),
    ])
    _ = try await server.nextRequest()
    for task in [1, 2, 3] {
      let reply = try await client.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: task)))
      #expect(reply == .cancelled(CancelledTask()))
    }
    for task in [1, 2] {
      let event = try await client.nextEvent()
      #expect(event.taskIdentifier == task)
      #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
    try await server.waitForOpenConnections(0)
    #expect(fixture.names("partial") == [])
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func aCancelledDownloadCanBeContinuedByAnother() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    _ = try await client.next { if case .progress = $0 { true } else { nil } }
    let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: true)
    guard case .cancelled(let cancelled) = try await client.ask(.cancelTask(cancel)) else {
      Issue.record("refused")
      return
    }
    let point = try #require(cancelled.resumePoint)
    #expect(point.offset > 0 && point.entityTag == resource.version.etag && point.expectedTotal == 2 * Self.mebi)
    var next = TransferDescription.download(server.url("/f").absoluteString, task: 2)
    next.resumePoint = point
    _ = try await client.create([next])
    #expect(try await client.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    #expect(resource.served.map(\.offset) == [0, point.offset])
    #expect(!FileManager.default.fileExists(atPath: point.path))
    await fixture.shutDown()
    await server.shutdown()
  }

  /// The service died between taking the task and taking over the file that it goes on with, or in the middle of that.
  @Test(arguments: [false, true])
  func theNextLifeTakesAFileOver(leavesHalfOfACopy: Bool) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    let server = try await serve(resource)
    let folder = try TemporaryFolder()
    let file = folder.path + "/7.resume"
    try resource.version.pattern.write(toFile: file, count: Self.mebi)
    do {
      let store = try TransferStore.open(in: folder.path)
      let session = try store.attach(
        app: store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid())), identifier: "s",
        options: SessionOptions())
      var description = TransferDescription.download(server.url("/f").absoluteString)
      description.resumePoint = ResumePoint(path: file, offset: Self.mebi, url: server.url("/f").absoluteString)
      var new = TransferStore.NewTransfer(description, host: "h")
      new.validator = .init(entityTag: resource.version.etag)
      let id = try store.create([new], session: session.id, date: Date()).ids[0]
      try store.close()
      if leavesHalfOfACopy {
        try FileManager.default.createDirectory(
          atPath: folder.path + "/partial", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data("half".utf8).write(to: URL(fileURLWithPath: folder.path + "/partial/\(id)"))
      }
    }
    let fixture = try EngineFixture(folder: folder)
    let client = fixture.client()
    try await client.begin()
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    #expect(resource.served.map(\.offset) == [Self.mebi])
    #expect(!FileManager.default.fileExists(atPath: file))
    await fixture.shutDown()
    await server.shutdown()
  }

  /// A cancellation is answered once no crash can undo it.
  @Test(arguments: [false, true])
  func aCancellationThatIsNotWrittenIsNotAnswered(wantsResumePoint: Bool) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture { $0.storagePatience = 0.05 }
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
    _ = try await client.next { if case .progress = $0 { true } else { nil } }
    try await client.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
    try await server.waitForOpenConnections(0)
    try await eventually("the bytes to be committed") {
      try fixture.store.transfer(id)?.head.committedOffset ?? 0 > 0
    }
    try await fixture.store.database.write {
      try $0.execute(
        sql: "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'a broken disk'); END")
    }
    let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: wantsResumePoint)
    fixture.engine.received(ClientMessage(id: 900, request: .cancelTask(cancel)), from: client)
    // Asked again meanwhile, by whoever.
    fixture.engine.received(
      ClientMessage(id: 901, request: .cancelTransfer(TransferReference(transfer: id))), from: client)
    await fixture.settle()
    func reply(_ id: UInt64) -> ServiceReply? {
      client.messages.all.compactMap { message -> ServiceReply? in
        if case .reply(id, let reply) = message { reply } else { nil }
      }.first
    }
    #expect(reply(900) == nil && reply(901) == nil)
    #expect(try fixture.store.transfer(id)?.head.state == .suspended)
    try await fixture.store.database.write { try $0.execute(sql: "DROP TRIGGER broken") }
    #expect(try await client.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
    await fixture.settle()
    guard case .cancelled(let cancelled) = reply(900) else {
      Issue.record("not answered")
      return
    }
    #expect((cancelled.resumePoint != nil) == wantsResumePoint)
    #expect(reply(901) == .done)
    await fixture.shutDown()
    await server.shutdown()
  }

  /// A new date or description is no reason to ask a failing server at once; whoever suspends and resumes wants that.
  @Test func onlyResumingEndsTheWaitForTheNextTry() async throws {
    let url = try addressNobodyServes()
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download(url)])[0]
    for failures in 1...3 {
      _ = try await client.nextState(.waiting)
      try await eventually("a failure to be noted") { try fixture.store.transfer(id)?.head.failures == failures }
      guard failures < 3 else { break }
      fixture.clock.advance(by: 600)
      fixture.engine.poke()
    }
    func waiting() async throws -> WaitingStatus? {
      guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
        return nil
      }
      return shown.status.waiting
    }
    let before = try #require(try await waiting())
    #expect(before.code == "retry")
    var update = UpdateTask(session: "s", taskIdentifier: 1)
    update.earliestBeginDate = fixture.clock.date - 10
    try await client.ask(.updateTask(update))
    let after = try #require(try await waiting())
    #expect(after.code == "retry")
    let moved = try #require(after.nextAttempt).timeIntervalSince(try #require(before.nextAttempt))
    #expect(abs(moved) < 0.01)
    // A date behind the next try is what it waits for.
    update.earliestBeginDate = fixture.clock.date + 86_400
    try await client.ask(.updateTask(update))
    #expect(try await waiting()?.code == "earliestBegin")
    update.earliestBeginDate = fixture.clock.date - 10
    try await client.ask(.updateTask(update))
    #expect(try await waiting()?.code == "retry")

    let selection = TaskSelection(session: "s", taskIdentifiers: [1])
    try await client.ask(.suspendTasks(selection))
    #expect(try fixture.store.transfer(id)?.head.nextAttempt == nil)
    try await client.ask(.resumeTasks(selection))
    // No time has passed.
    try await eventually("the next try") { try fixture.store.transfer(id)?.head.failures == 4 }
    await fixture.shutDown()
  }

  @Test func bytesThatArriveEndTheCountOfFailures() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(0), .after(0), .after(Self.mebi, .stall)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
    for failures in 1...2 {
      try await eventually("a failure to be noted") { try fixture.store.transfer(id)?.head.failures == failures }
      fixture.clock.advance(by: 600)
      fixture.engine.poke()
    }
    _ = try await client.next { if case .progress = $0 { true } else { nil } }
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      Issue.record("refused")
      return
    }
    #expect(shown.status.failedAttempts == 0)
    #expect(try fixture.store.transfer(id)?.head.failures == 0)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func anInvalidatedSessionLeavesNothing() async throws {
    let server = try await LoopbackServer.start { _ in .never }
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([
      .download(server.url("/f").absoluteString), .download("http://h/", task: 2, running: false),
    ])
    _ = try await server.nextRequest()
    #expect(try await client.ask(.invalidate(SessionReference(session: "s"))) == .done)
    try await server.waitForOpenConnections(0)
    let attached = try #require(try await client.attach())
    #expect(attached.page.tasks.isEmpty && attached.pendingEventCount == 0 && attached.nextTaskIdentifier == 3)
    try await eventually("the partial file to be removed") { fixture.names("partial") == [] }
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func theNextLifeGoesOnWhereThisOneEnded() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    let server = try await serve(resource)
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    _ = try await client.create([.download(server.url("/f").absoluteString)])
    _ = try await client.next { if case .progress = $0 { true } else { nil } }
    await fixture.shutDown()

    let next = try EngineFixture(folder: fixture.folder)
    let again = next.client()
    let attached = try await again.begin()
    #expect(attached?.willFinishEvents == true)
    let event = try await again.nextEvent()
    let download = try #require(event.download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    #expect(resource.served.map(\.status) == [200, 206])
    try await again.acknowledge([event, try await again.nextEvent()])
    try await again.eventsFinished()
    await next.shutDown()
    await server.shutdown()
  }

  /// The service died after the rename and before it wrote the events.
  @Test func aRenamedFileGetsItsEvents() async throws {
    let resource = FileResource(size: 1_000)
    let server = try await serve(resource)
    let folder = try TemporaryFolder()
    let id: TransferID
    do {
      let store = try TransferStore.open(in: folder.path)
      let session = try store.attach(
        app: store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid())), identifier: "s",
        options: SessionOptions())
      id = try store.create(
        [.init(.download(server.url("/f").absoluteString), host: "h")], session: session.id, date: Date()
      ).ids[0]
      let response = ResponseSummary(url: server.url("/f").absoluteString, status: 200, expectedContentLength: 1_000)
      try store.commit(
        offset: 1_000, representation: .init(response: response, validator: nil, expectedTotal: 1_000), of: id)
      try store.close()
      try FileManager.default.createDirectory(
        atPath: folder.path + "/complete", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try resource.version.pattern.write(toFile: folder.path + "/complete/\(id)", count: 1_000)
    }
    let fixture = try EngineFixture(folder: folder)
    let client = fixture.client()
    let attached = try await client.begin()
    #expect(attached?.pendingEventCount == 2)
    let download = try #require(try await client.nextEvent().download)
    #expect(resource.version.pattern.difference(toFile: download.path, count: 1_000) == nil)
    #expect(try await client.nextEvent().completion?.failure == nil)
    #expect(server.requests.isEmpty)
    await fixture.shutDown()
    await server.shutdown()
  }

  @Test func filesThatNobodyNeedsAreRemovedAtTheStart() async throws {
    let folder = try TemporaryFolder()
    for name in ["partial/99", "partial/x", "complete/98", "delivery/98.a.tmp", "delivery/7.b.resume"] {
      let path = "\(folder.path)/\(name)"
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try Data("x".utf8).write(to: URL(fileURLWithPath: path))
    }
    let fixture = try EngineFixture(folder: folder)
    #expect(fixture.names("partial") == [] && fixture.names("complete") == [])
    // The resume file belongs to the app.
    #expect(fixture.names("delivery") == ["7.b.resume"])
    await fixture.shutDown()
  }

  @Test func aRetryOutlivesTheMachine() async throws {
    let url = try addressNobodyServes()
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let id = try await client.create([.download(url)])[0]
    _ = try await client.nextState(.waiting)
    await fixture.shutDown()
    fixture.clock.restartMachine(after: -5_000_000)

    let next = try EngineFixture(folder: fixture.folder, clock: fixture.clock)
    let again = next.client()
    try await again.begin()
    guard case .transfer(let shown) = try await again.ask(.showTransfer(TransferReference(transfer: id))) else {
      Issue.record("refused")
      return
    }
    // Whatever the wall clock says, it is no longer than the longest wait.
    let attempt = try #require(shown.status.waiting?.nextAttempt)
    #expect(attempt.timeIntervalSince(fixture.clock.date) <= 600)
    #expect(shown.status.waiting?.code == "retry" && shown.status.failedAttempts == 1)
    await next.shutDown()
  }

  @Test func tenThousandAreThereAfterARestart() async throws {
    let fixture = try EngineFixture()
    let client = fixture.client()
    try await client.begin()
    let ids = try await client.create((1...10_000).map { .download("http://h/\($0)", task: $0, running: false) })
    #expect(ids.count == 10_000)
    await fixture.shutDown()

    let next = try EngineFixture(folder: fixture.folder)
    let again = next.client()
    try await again.greet()
    #expect(try await again.attach()?.page.tasks.isEmpty == false)
    await next.shutDown()
  }

  @Test func aServiceWithNothingToDoSaysSo() async throws {
    let fixture = try EngineFixture { $0.idleExit = 0.01 }
    try await fixture.idle.wait(within: patience)
    await fixture.shutDown()
  }

  @Test func aServiceWithAClientStays() async throws {
    let fixture = try EngineFixture { $0.idleExit = 3 }
    let client = fixture.client()
    try await client.greet()
    await #expect(throws: WaitExpired.self) { () async throws in try await fixture.idle.wait(within: .seconds(4))
    }
    client.disconnect()
    try await fixture.idle.wait(within: patience)
    await fixture.shutDown()
  }
}

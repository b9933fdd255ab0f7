import Foundation
import HTTPSemantics
import LoopbackServer
import SystemFakes
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The next life of the service, over the queue and the files of the one before.
@Suite struct TransferEngineRecoveryTests {
  private static let mebi: Int64 = 1 << 20

  private func addressWithoutServer() throws -> String { "http://127.0.0.1:\(try UnservedPort.shared.get().number)/f" }

  @Test func theNextLifeContinuesAtTheCommittedOffset() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.next { if case .progress = $0 { true } else { nil } }

      let next = try await fixture.nextLife()
      let again = next.client()
      let attached = try await again.begin()
      #expect(attached?.willFinishEvents == true)
      let event = try await again.nextEvent()
      let download = try #require(event.download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
      #expect(resource.served.map(\.status) == [200, 206])
      try await again.acknowledge([event, try await again.nextEvent()])
      try await again.eventsFinished()
    }
  }

  /// The service ended after the rename and before it wrote the events.
  @Test func aRenamedFileWithoutEventsGetsThem() async throws {
    let url = try addressWithoutServer()
    let pattern = BytePattern()
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download(url)) { store, id in
      let response = ResponseSummary(url: url, status: 200, expectedContentLength: 1_000)
      try store.commit(
        offset: 1_000, representation: .init(response: response, validator: nil, expectedTotal: 1_000), of: id)
      try pattern.write(toFile: folder.subfolder("complete") + "/\(id)", count: 1_000)
    }
    try await withEngine(in: folder) { fixture in
      let client = fixture.client()
      let attached = try await client.begin()
      #expect(attached?.pendingEventCount == 2)
      let download = try #require(try await client.nextEvent().download)
      #expect(pattern.difference(toFile: download.path, count: 1_000) == nil)
      #expect(try await client.nextEvent().completion?.failure == nil)
    }
  }

  /// A folder has a length as well, which may be that of the file.
  @Test func aFolderIsNoFinishedFile() async throws {
    let resource = FileResource(size: 1_000)
    try await withServer({ resource.reply(to: $0) }) { server in
      let (url, folder) = (server.url("/f").absoluteString, try TemporaryFolder())
      try folder.leaveTransfer(.download(url)) { store, id in
        let path = try folder.subfolder("complete/\(id)")
        let size = try #require(try LinuxFileSystem().size(of: path))
        let response = ResponseSummary(url: url, status: 200, expectedContentLength: size)
        try store.commit(
          offset: size, representation: .init(response: response, validator: nil, expectedTotal: size), of: id)
      }
      try await withEngine(in: folder) { fixture in
        let client = fixture.client()
        try await client.begin()
        let download = try #require(try await client.nextEvent().download)
        #expect(resource.version.pattern.difference(toFile: download.path, count: 1_000) == nil)
        let dated = try #require(fixture.names("set-aside").first)
        #expect(fixture.names("set-aside/\(dated)/complete") == ["1"])
      }
    }
  }

  @Test func removesFilesThatTheirTransfersNeedNoMore() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { store, id in
      try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date())
      for name in ["partial/\(id)", "complete/\(id)", "delivery/\(id).a.tmp", "delivery/\(id).b.resume"] {
        try folder.leaveFile(name)
      }
    }
    try await withEngine(in: folder) { fixture in
      #expect(fixture.names("partial") == [] && fixture.names("complete") == [])
      // The resume file belongs to the app.
      #expect(fixture.names("delivery") == ["1.b.resume"] && fixture.names("set-aside") == [])
    }
  }

  @Test func whatCanNotBeRemovedKeepsNothingElseBack() async throws {
    let folder = try TemporaryFolder()
    let disk = FaultyFileSystem()
    disk.set([.init(.remove, code: EBUSY, path: "partial/1")])
    try folder.leaveTransfer(.download("http://h/")) { store, id in
      try store.finish(id, hasFile: false, completion: StoreFixture.completion(), date: Date())
    }
    // A folder can't be removed as a file.
    for name in ["running/1.x", "uploads/a.new"] { _ = try folder.subfolder(name) }
    for name in ["partial/1", "complete/1", "uploads/b.new", "partial/99", "running/2.x"] { try folder.leaveFile(name) }
    try await withEngine(in: folder, disk: disk, { $0.removalPatience = 0.05 }) { fixture in
      #expect(fixture.names("complete") == [] && fixture.names("uploads") == [])
      #expect(fixture.names("partial") == ["1"] && fixture.names("running") == ["1.x"])
      let setAside = fixture.names("set-aside").flatMap { dated in
        ["uploads", "partial"].flatMap { fixture.names("set-aside/\(dated)/\($0)") }
      }
      // The other one is removed, or set aside where it was looked at before.
      #expect(Set(setAside).subtracting(["b.new"]) == ["a.new", "99"])
      // It is tried again.
      disk.set([])
      try await eventually("the removal") { fixture.names("partial") == [] }
    }
  }

  @Test(arguments: [
    "launches = 'x'", "identifier = X'FF00'", "nextTaskIdentifier = 'x', nextSequence = X'01'",
    "judgesConnections = 'x'", "sealedOptions = 7", "recentLaunches = X''",
  ])
  func aDamagedSessionKeepsNoOtherFromItsWork(change: String) async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/", running: false)) { store, _ in
      let app = try store.app(for: ExecutableIdentity(path: "/app", device: 1, inode: 2, owner: geteuid()))
      let other = try store.attach(app: app, identifier: "t", options: SessionOptions())
      let task = TransferDescription.download("http://h/", task: 2, running: false)
      _ = try store.create([.init(task, host: "h")], session: other.id, date: Date())
      try store.database.write { try $0.execute(sql: "UPDATE sessions SET \(change) WHERE identifier = 's'") }
    }
    try await withEngine(in: folder) { fixture in
      let app = fixture.client()
      try await app.greet()
      #expect(try await app.attach("t")?.page.tasks.count == 1)
      #expect(try fixture.store.unfinishedHeads().count == 2)
      let sessions = try fixture.store.liveSessions()
      #expect(sessions.count == 2)
      let damaged = try #require(sessions.first { $0.identifier != "t" })
      if change.hasPrefix("nextTask") { #expect(damaged.nextTaskIdentifier > 1 << 40) }
      if change.hasPrefix("judges") { #expect(damaged.judgesConnections) }
    }
  }

  /// Its program has no path that can be read.
  @Test func tasksOfASessionThatCanNotBeReadStay() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { store, id in
      try folder.leaveFile("partial/\(id)")
      try store.database.write { try $0.execute(sql: "UPDATE apps SET path = X'FF00'") }
    }
    try await withEngine(in: folder) { fixture in
      var unreadable: [SessionID] = []
      let sessions = try fixture.store.liveSessions { id, _ in unreadable.append(id) }
      #expect(sessions.isEmpty && unreadable == [1] && fixture.names("partial") == ["1"])
      #expect(try fixture.store.unfinishedHeads().map(\.id) == [1])
    }
  }

  @Test func setsAsideFilesWithoutARow() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/", running: false)) { _, _ in }
    for name in ["partial/99", "partial/x", "complete/98", "delivery/98.a.tmp", "delivery/7.b.resume"] {
      try folder.leaveFile(name)
    }
    try await withEngine(in: folder) { fixture in
      #expect(fixture.names("partial") == [] && fixture.names("complete") == [])
      #expect(fixture.names("delivery") == ["7.b.resume"])
      let dated = try #require(fixture.names("set-aside").first)
      #expect(fixture.names("set-aside/\(dated)/partial") == ["99", "x"])
      #expect(fixture.names("set-aside/\(dated)/complete") == ["98"])
      #expect(fixture.names("set-aside/\(dated)/delivery") == ["98.a.tmp"])
    }
  }

  /// Its response was not committed, so it can't be told apart from the rest of another try.
  @Test func aCompleteFileWithoutAResponseIsSetAside() async throws {
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/", running: false)) { _, id in
      try folder.leaveFile("complete/\(id)")
      #expect(truncate("\(folder.path)/complete/\(id)", off_t(JournalledPart.largestUncounted) + 1) == 0)
    }
    try await withEngine(in: folder) { fixture in
      #expect(fixture.names("complete") == [])
      let dated = try #require(fixture.names("set-aside").first)
      #expect(fixture.names("set-aside/\(dated)/complete") == ["1"])
    }
  }

  /// The service died before the end of a small file was written. It is loaded again, in whichever version there is now.
  @Test func aSmallFileWhoseEndIsNotWrittenIsLoadedAgain() async throws {
    let resource = FileResource(size: 1_000)
    let server = try await LoopbackServer.start { resource.reply(to: $0) }
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download(server.url("/f").absoluteString)) { _, id in
      try folder.leaveFile("complete/\(id)")
    }
    try await withEngine(in: folder) { fixture in
      let client = fixture.client()
      try await client.begin()
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 1_000) == nil)
      let dated = try #require(fixture.names("set-aside").first)
      #expect(fixture.names("set-aside/\(dated)/complete") == ["1"])
    }
    await server.shutdown()
  }

  /// The server has it no more, or is gone: also in a later life the app is told of the file.
  @Test func theFailureOfASecondLoadNamesTheFileOfTheFirst() async throws {
    let runner = ScriptedRunner()
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/")) { _, id in try folder.leaveFile("complete/\(id)") }
    try await withEngine(in: folder, runner: runner) { first in
      try await eventually("it to run") { runner.running == [1] }
      let dated = try #require(first.names("set-aside").first)
      let fixture = try await first.nextLife()
      try await eventually("it to run again") { runner.running == [1] }
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1100, message: "It failed.")
      runner.end(1, .failed(failure, nil, received: 0))
      let client = fixture.client()
      try await client.begin()
      let sentence = try await client.nextEvent().completion?.failure?.message
      let path = "\(folder.path)/set-aside/\(dated)/complete/1"
      #expect(sentence == "It failed. A file that had been loaded before is kept in \(path).")
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }

  /// The answer to it had come, and its record was lost with the queue.
  @Test func aRequestThatMayNotBeRepeatedIsNotMadeAgainWhereItsFileIsThere() async throws {
    let runner = ScriptedRunner()
    let folder = try TemporaryFolder()
    try folder.leaveTransfer(.download("http://h/", method: "POST")) { _, id in try folder.leaveFile("complete/\(id)") }
    try await withEngine(in: folder, runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let failure = try #require(try await client.nextEvent().completion?.failure)
      let dated = try #require(fixture.names("set-aside").first)
      #expect(failure.code == URLError.Code.backgroundSessionWasDisconnected.rawValue && failure.url == "http://h/")
      #expect(failure.message.contains("is kept in \(folder.path)/set-aside/\(dated)/complete/1."))
      #expect(fixture.names("set-aside/\(dated)/complete") == ["1"] && runner.running == [])
    }
  }

  @Test func aRequestWithAKeyIsMadeAgainWhereItsFileIsThere() async throws {
    let runner = ScriptedRunner()
    let folder = try TemporaryFolder()
    let post = TransferDescription.download(
      "http://h/", headers: [HeaderField("Idempotency-Key", "\"1\"")], method: "POST")
    try folder.leaveTransfer(post) { _, id in try folder.leaveFile("complete/\(id)") }
    try await withEngine(in: folder, runner: runner) { _ in
      try await eventually("it to run") { runner.running == [1] }
    }
  }

  @Test func aPlannedRetrySurvivesARestartOfTheMachine() async throws {
    let url = try addressWithoutServer()
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      let id = try await client.create([.download(url)])[0]
      _ = try await client.nextRetry()
      await fixture.shutDown()
      fixture.clock.restartMachine(after: -5_000_000)

      let next = try await fixture.nextLife()
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
    }
  }

  /// A server that names a time is not asked sooner: neither by another life of the service, nor after a restart of the machine
  /// or a change of the network.
  @Test(arguments: [false, true]) func aTimeThatAServerNamesOutlivesTheService(restartsMachine: Bool) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.networkSettling = 0 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try #require(try await client.create([.download("http://h/1")]).first)
      await fixture.settle()
      runner.end(
        id, .refused(PassingRefusal(status: 503, wait: 7_200), kept: KeptBytes(5), received: 5))
      try await eventually("the next try in the queue") { try fixture.store.transfer(id)?.head.nextAttempt != nil }
      let before = try #require(try await client.status(id).waiting)
      await fixture.shutDown()
      if restartsMachine { fixture.clock.restartMachine(after: 100) }

      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      let waiting = try #require(try await again.status(id).waiting)
      #expect(waiting.code == "serverBusy" && waiting.sentence == before.sentence)
      let left = try #require(waiting.nextAttempt).timeIntervalSince(fixture.clock.date)
      #expect(abs(left - (restartsMachine ? 7_100 : 7_200)) < 2)
      next.engine.networkChanged()
      await next.settle()
      await next.advance(by: left - 10)
      #expect(runner.running.isEmpty)
      await next.advance(by: 11)
      #expect(runner.running == [id])
    }
  }

  @Test func tenThousandTransfersSurviveARestart() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create((1...10_000).map { .download("http://h/\($0)", task: $0, running: false) })
      #expect(ids.count == 10_000)

      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.greet()
      #expect(try await again.attach()?.page.tasks.isEmpty == false)
    }
  }
}

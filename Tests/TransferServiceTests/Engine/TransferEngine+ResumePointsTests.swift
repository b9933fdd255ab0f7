import Foundation
import HTTPSemantics
import LoopbackServer
import SystemFakes
import Testing
import TransferProtocol

@testable import TransferService

/// Files with which apps begin cancelled and failed downloads again, while the disk takes its time.
@Suite struct TransferEngineResumePointsTests {
  /// An app with downloads that are suspended, of which four bytes are there.
  private func withDownloads(
    _ count: Int, _ change: @escaping @Sendable (inout TransferEngine.Settings) -> Void = { _ in },
    _ body: (EngineFixture, FakeClient) async throws -> Void
  ) async throws {
    try await withEngine(runner: ScriptedRunner(), change) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create(
        (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) })
      for id in ids {
        let response = ResponseSummary(url: "http://h/\(id)", status: 200)
        try fixture.store.commit(
          offset: 4, representation: .init(response: response, validator: .init(entityTag: "\"x\""), expectedTotal: 9),
          of: id)
        try Data("part".utf8).write(to: URL(fileURLWithPath: fixture.files.partial(id)))
      }
      try await body(fixture, app)
    }
  }

  private func cancellation(of task: Int, makesPoint: Bool = true) -> ClientRequest {
    .cancelTask(CancelTask(session: "s", taskIdentifier: task, producingResumePoint: makesPoint))
  }

  private func resumePoint(_ reply: ServiceReply) -> ResumePoint? {
    if case .cancelled(let cancelled) = reply { cancelled.resumePoint } else { nil }
  }

  @Test func theFilesOfManyWaitForTheDiskOnce() async throws {
    try await withDownloads(20) { fixture, app in
      fixture.engine.queue.suspend()
      let numbers = (1...20).map { app.tell(cancellation(of: $0)) }
      fixture.engine.queue.resume()
      for number in numbers {
        let path = resumePoint(try await app.awaitReply(to: number))?.path
        #expect(FileManager.default.fileExists(atPath: path ?? ""))
      }
      let waits = fixture.disk.log.count { $0.hasPrefix("syncDirectory ") && $0.hasSuffix("/delivery") }
      #expect(waits == 1)
    }
  }

  @Test func anEndWithoutAResumePointDoesNotWaitForThatOfAnother() async throws {
    try await withDownloads(2) { fixture, app in
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file to wait for the disk") { isHeld() }
        guard case .cancelled = try await app.ask(cancellation(of: 2, makesPoint: false)) else {
          Issue.record("not cancelled")
          return number
        }
        #expect(app.reply(to: number) == nil)
        #expect(try fixture.store.unfinishedHeads().map(\.taskIdentifier) == [1])
        return number
      }
      #expect(resumePoint(try await app.awaitReply(to: number))?.offset == 4)
      let ended = [try await app.nextEvent().taskIdentifier, try await app.nextEvent().taskIdentifier]
      #expect(ended == [2, 1])
    }
  }

  /// No app is told of it any more.
  @Test func theFileOfATransferThatGoesWithItsSessionIsRemoved() async throws {
    try await withDownloads(1) { fixture, app in
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file to wait for the disk") { isHeld() }
        #expect(fixture.names("delivery").count == 1)
        #expect(try await app.ask(.invalidate(SessionReference(session: "s"))) == .done)
        return number
      }
      await fixture.settle()
      #expect(fixture.names("delivery") == [])
      #expect(resumePoint(try await app.awaitReply(to: number)) == nil)
    }
  }

  /// A service that is killed here has not cancelled the transfer.
  @Test func theTransferHasItsBytesUntilItsEndIsOnTheDisk() async throws {
    try await withDownloads(1) { fixture, app in
      let number = try await fixture.holdingQueue {
        let number = app.tell(cancellation(of: 1))
        try await eventually("the file of the app") { fixture.names("delivery").count == 1 }
        #expect(fixture.names("partial") == ["1"] && app.reply(to: number) == nil)
        return number
      }
      let path = try #require(resumePoint(try await app.awaitReply(to: number))?.path)
      #expect(fixture.names("partial") == [] && FileManager.default.contents(atPath: path) == Data("part".utf8))
      // The app may begin with it: it is under this name only.
      let file = ResumeFile(path: path, files: fixture.files, transfer: 2)
      #expect(try file.isNamedAsOurs { $0 == 1 })
      _ = try file.open()
    }
  }

  @Test func theFileIsMovedWhereThereAreNoHardLinks() async throws {
    try await withDownloads(1) { fixture, app in
      fixture.disk.set([.init(.link, code: EPERM, path: "partial")])
      let path = try #require(resumePoint(try await app.ask(cancellation(of: 1)))?.path)
      #expect(FileManager.default.contents(atPath: path) == Data("part".utf8))
    }
  }

  @Test func aFileThatMayBeLostWithThePowerIsNotTold() async throws {
    try await withDownloads(2) { fixture, app in
      fixture.disk.set([.init(.syncDirectory, code: EIO, path: "delivery", times: 1)])
      let reply = try await app.ask(cancellation(of: 1))
      #expect(resumePoint(reply) == nil && fixture.names("delivery") == [])
      #expect(resumePoint(try await app.ask(cancellation(of: 2))) != nil)
    }
  }

  // MARK: Folders that are gone

  private static let folders = ["partial", "delivery"]

  /// Cancels a download while a folder is elsewhere, and returns the number of the request once that is known.
  private func cancel(without folder: String, _ fixture: EngineFixture, _ app: FakeClient) async throws -> UInt64 {
    let (path, elsewhere) = ("\(fixture.folder.path)/\(folder)", fixture.folder.path + "/elsewhere")
    try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
    let number = app.tell(cancellation(of: 1))
    try await eventually("the folder to be missed") {
      fixture.engine.queue.sync { !fixture.engine.storage.isAvailable && !fixture.engine.endsAwaitingStorage.isEmpty }
    }
    #expect(app.reply(to: number) == nil)
    return number
  }

  @Test(arguments: folders) func aCancellationWaitsForTheFolderOfItsBytes(folder: String) async throws {
    try await withDownloads(1, { $0.storagePatience = 0.01 }) { fixture, app in
      let number = try await cancel(without: folder, fixture, app)
      try FileManager.default.moveItem(
        atPath: fixture.folder.path + "/elsewhere", toPath: "\(fixture.folder.path)/\(folder)")
      let path = try #require(resumePoint(try await app.awaitReply(to: number))?.path)
      #expect(FileManager.default.contents(atPath: path) == Data("part".utf8))
    }
  }

  @Test func aCancellationEndsWhenTheFolderOfItsBytesIsMadeAgain() async throws {
    try await withDownloads(1, { $0.storagePatience = 0.01 }) { fixture, app in
      let number = try await cancel(without: "partial", fixture, app)
      fixture.clock.advance(by: 60)
      #expect(resumePoint(try await app.awaitReply(to: number)) == nil)
      #expect(try await app.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }

  /// Its app has no answer, and asks again.
  @Test func aServiceThatEndsMeanwhileLeavesTheTransferAsItWas() async throws {
    try await withDownloads(1, { $0.storagePatience = 0.01 }) { fixture, app in
      let number = try await cancel(without: "partial", fixture, app)
      await fixture.shutDown()
      #expect(app.reply(to: number) == nil)
      try FileManager.default.moveItem(
        atPath: fixture.folder.path + "/elsewhere", toPath: fixture.files.partialDirectory)
      let again = try await fixture.nextLife().client()
      try await again.begin()
      #expect(resumePoint(try await again.ask(cancellation(of: 1)))?.offset == 4)
    }
  }

  // MARK: Downloads that fail

  /// An app with a download that runs, of which four bytes are there.
  private func withRun(
    validator: ResumeValidator? = .init(entityTag: "\"x\""), options: SessionOptions = SessionOptions(),
    _ body: (EngineFixture, FakeClient, ScriptedRunner, TransferID) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let app = fixture.client()
      try await app.begin(options: options)
      let id = try #require(try await app.create([.download("http://h/1")]).first)
      try await eventually("the run") { runner.running == [id] }
      try fixture.store.commit(
        offset: 4,
        representation: .init(
          response: ResponseSummary(url: "http://h/1", status: 200), validator: validator, expectedTotal: 9), of: id)
      try Data("part".utf8).write(to: URL(fileURLWithPath: fixture.files.partial(id)))
      try await body(fixture, app, runner, id)
    }
  }

  private func fail(_ id: TransferID, _ runner: ScriptedRunner) {
    runner.end(id, .failed(.timedOut("http://h/1"), nil, received: 4))
  }

  @Test func aFailureHandsOverWhatArrived() async throws {
    try await withRun { fixture, app, runner, id in
      fail(id, runner)
      let event = try await app.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.timedOut.rawValue)
      let point = try #require(event.completion?.resumePoint)
      #expect(point.offset == 4 && point.expectedTotal == 9 && point.entityTag == "\"x\"" && point.url == "http://h/1")
      #expect(FileManager.default.contents(atPath: point.path) == Data("part".utf8) && fixture.names("partial") == [])
      let file = ResumeFile(path: point.path, files: fixture.files, transfer: 2)
      #expect(try file.isNamedAsOurs { $0 == id })
      _ = try file.open()
      // The next life tells it, too, until the app has acknowledged the end.
      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      let repeated = try await again.nextEvent()
      #expect(repeated.completion?.resumePoint == point && FileManager.default.fileExists(atPath: point.path))
      try await again.acknowledge([repeated])
      #expect(next.names("delivery") == [])
    }
  }

  /// Also one that waits for its next try, whose time is over.
  @Test func aFailureWhileItWaitsHandsOverWhatArrived() async throws {
    var options = SessionOptions()
    options.timeoutIntervalForResource = 100
    try await withRun(options: options) { fixture, app, runner, id in
      runner.end(id, .retry(.timedOut("http://h/1"), kept: KeptBytes(4), received: 4))
      await fixture.settle()
      fixture.disk.set([.init(.link, code: EPERM, path: "partial")])
      fixture.clock.advance(by: 200)
      await fixture.advance(by: 1)
      let path = try #require(try await app.nextEvent().completion?.resumePoint?.path)
      #expect(FileManager.default.contents(atPath: path) == Data("part".utf8))
    }
  }

  @Test func bytesThatProveNothingAreNotHandedOver() async throws {
    try await withRun(validator: nil) { fixture, app, runner, id in
      fail(id, runner)
      let event = try await app.nextEvent()
      #expect(event.completion?.failure != nil && event.completion?.resumePoint == nil)
      await fixture.settle()
      #expect(fixture.names("delivery") == [] && fixture.names("partial") == [])
    }
  }

  @Test func aFailureWhoseFileCanNotBeMadeIsToldWithoutIt() async throws {
    try await withRun { fixture, app, runner, id in
      let operations: [FaultyFileSystem.Operation] = [.link, .rename]
      fixture.disk.set(operations.map { FaultyFileSystem.Fault($0, code: ENOSPC, path: "partial") })
      fail(id, runner)
      let completion = try await app.nextEvent().completion
      #expect(completion?.failure?.code == URLError.Code.timedOut.rawValue && completion?.resumePoint == nil)
      await fixture.settle()
      #expect(fixture.names("delivery") == [] && fixture.names("partial") == [])
    }
  }

  /// There is one file.
  @Test func aCancellationThatComesTooLateIsGivenNoFile() async throws {
    try await withRun { fixture, app, runner, id in
      let number = try await fixture.holdingQueue {
        fail(id, runner)
        try await eventually("the file of the app") { fixture.names("delivery").count == 1 }
        return app.tell(cancellation(of: 1))
      }
      #expect(resumePoint(try await app.awaitReply(to: number)) == nil)
      let event = try await app.nextEvent()
      #expect(event.completion?.resumePoint != nil)
    }
  }

  @Test func theFileCountsForTheAppUntilItHasIt() async throws {
    try await withRun { fixture, app, runner, id in
      fail(id, runner)
      let event = try await app.nextEvent()
      let owner = try #require(try fixture.store.transfer(id)?.app)
      #expect(try fixture.store.fileBytes(of: owner) == 4)
      try await app.acknowledge([event])
      #expect(try fixture.store.fileBytes(of: owner) == 0)
    }
  }

  /// The service was killed between the file and the end: no app was told, and the transfer goes on.
  @Test func aFileThatWasNotToldGoesWithTheNextStart() async throws {
    try await withDownloads(1) { fixture, _ in
      let path = try fixture.files.makeResumeFile(1)
      let next = try await fixture.nextLife()
      #expect(next.names("delivery") == [] && next.names("partial") == ["1"], "\(path)")
    }
  }

  // MARK: File systems that hang

  private func download(_ task: Int, beginningWith path: String) throws -> TransferDescription {
    try Data("part".utf8).write(to: URL(fileURLWithPath: path))
    var description = TransferDescription.download("http://h/\(task)", task: task)
    description.resumePoint = ResumePoint(path: path, offset: 4, url: "http://h/\(task)")
    description.resumePoint?.entityTag = "\"x\""
    return description
  }

  /// The paths come in messages. Looked at on the engine's queue, one of them stopped all apps.
  @Test func filesOnAFileSystemThatHangsHoldUpNoOtherApp() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.resumeFilePatience = .seconds(2) }) { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      for client in [app, other] { try await client.begin() }
      let hanging = try fixture.appFolder.subfolder("hangs/urlsession-\(getuid())")
      let library = try fixture.appFolder.subfolder("urlsession-\(getuid())")
      let paths = (1...3).map { "\(hanging)/CFNetworkDownload_\($0).tmp" }
      let tasks = try paths.enumerated().map { try download($0.offset + 1, beginningWith: $0.element) }
      try await fixture.disk.holding(.folder, path: "/hangs/") { isHeld in
        let ids = try await app.create(tasks)
        #expect(ids.count == 3)
        try await eventually("the file system to hang") { isHeld() }
        let id = try #require(
          try await other.create([download(1, beginningWith: "\(library)/CFNetworkDownload_o.tmp")]).first)
        try await eventually("the run of the other app") { runner.running.contains(id) }
        #expect(runner.job(id)?.committedOffset == 4)
        // They are given up, and so is the third one, which has not got a thread.
        try await eventually("the runs of the app") { Set(ids).isSubset(of: runner.running) }
        #expect(ids.allSatisfy { runner.job($0)?.committedOffset == 0 })
        #expect(fixture.names("partial") == ["\(id)"])
      }
      // Its threads are there again.
      let last = try #require(
        try await app.create([download(4, beginningWith: "\(library)/CFNetworkDownload_p.tmp")]).first)
      try await eventually("the run of the last") { runner.running.contains(last) }
      #expect(runner.job(last)?.committedOffset == 4)
      #expect(paths.allSatisfy { FileManager.default.fileExists(atPath: $0) }, "they are left to the app")
    }
  }

  @Test func aServiceEndsWhileAFileSystemHangsAndTheNextOneHasTheFile() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.resumeFilePatience = .seconds(3_600) }) { fixture in
      let app = fixture.client()
      try await app.begin()
      let hanging = try fixture.appFolder.subfolder("hangs/urlsession-\(getuid())")
      let task = try download(1, beginningWith: "\(hanging)/CFNetworkDownload_x.tmp")
      let id = try await fixture.disk.holding(.folder, path: "/hangs/") { isHeld in
        let id = try #require(try await app.create([task]).first)
        try await eventually("the file system to hang") { isHeld() }
        await fixture.shutDown()
        return id
      }
      _ = try await fixture.nextLife()
      try await eventually("the run") { runner.running == [id] }
      #expect(runner.job(id)?.committedOffset == 4)
    }
  }
}

import Foundation
import GRDB
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// How a transfer begins that the scheduler has chosen.
@Suite struct TransferEngineReadinessTests {
  private static let mebi: Int64 = 1 << 20

  @Test func failsWhenTheTimeForTheResourceIsOver() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    try await withEngine(serving: resource) { fixture, server in
      var options = SessionOptions()
      options.timeoutIntervalForResource = 100
      let client = fixture.client()
      try await client.begin("s", options: options)
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextRetry()
      fixture.clock.advance(by: 101)
      fixture.engine.poke()
      let completion = try #require(try await client.nextEvent().completion)
      #expect(completion.failure?.code == URLError.Code.timedOut.rawValue)
      #expect(fixture.names("partial") == [])
    }
  }

  @Test func waitsForTheEarliestBeginDate() async throws {
    try await withEngine(serving: FileResource(size: 10)) { fixture, server in
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
    }
  }

  /// The service ended between taking the task and importing its file, or in the middle of that.
  @Test(arguments: [false, true])
  func theNextLifeImportsTheResumeFile(leavesHalfOfACopy: Bool) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    let folder = try TemporaryFolder()
    let file = folder.path + "/delivery/1.A.resume"
    try await withServer({ resource.reply(to: $0) }) { server in
      var description = TransferDescription.download(server.url("/f").absoluteString)
      description.resumePoint = ResumePoint(path: file, offset: Self.mebi, url: server.url("/f").absoluteString)
      try folder.leaveTransfer(description, validator: .init(entityTag: resource.version.etag)) { _, id in
        _ = try folder.subfolder("delivery")
        try resource.version.pattern.write(toFile: file, count: Self.mebi)
        guard leavesHalfOfACopy else { return }
        try Data("half".utf8).write(to: URL(fileURLWithPath: folder.subfolder("partial") + "/\(id)"))
      }
      try await withEngine(in: folder) { fixture in
        let client = fixture.client()
        try await client.begin()
        let download = try #require(try await client.nextEvent().download)
        #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
        #expect(resource.served.map(\.offset) == [Self.mebi])
        #expect(!FileManager.default.fileExists(atPath: file))
      }
    }
  }

  @Test func anUnreadableQueueIsReadAgain() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 0.02 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      var description = TransferDescription.download("http://h/")
      description.earliestBeginDate = fixture.clock.date + 60
      let id = try await client.create([description])[0]
      try fixture.store.database.write { try $0.execute(sql: "ALTER TABLE transfers RENAME TO hidden") }
      await fixture.advance(by: 61)
      #expect(runner.running == [])
      fixture.engine.queue.sync {
        let reason = fixture.engine.scheduler.waitingReason(of: id)
        #expect(reason?.code == "storageUnavailable" && reason?.sentence.contains("can't be read") == true)
        // That is no fault of the disk, and others may begin.
        #expect(fixture.engine.storage.isAvailable)
      }
      try fixture.store.database.write { try $0.execute(sql: "ALTER TABLE hidden RENAME TO transfers") }
      fixture.clock.advance(by: 1)
      // By the engine's own timer.
      try await eventually("the run") { runner.running == [id] }
    }
  }

  /// A disk that can't be read is found out once, and not by each transfer.
  @Test func oneTransferFindsOutThatTheQueueCanNotBeRead() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 3_600 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create([
        .download("http://h/1", task: 1, running: false), .download("http://h/2", task: 2, running: false),
      ])
      fixture.engine.queue.sync {
        let engine = fixture.engine
        let error = DatabaseError(resultCode: .SQLITE_IOERR, message: "disk I/O error")
        guard case .held(let delay) = engine.unreadable(error, ids[0]) else {
          Issue.record("it begins")
          return
        }
        #expect(delay.reason.code == "storageUnavailable" && delay.reason.sentence.contains("disk I/O error"))
        #expect(engine.storage.fault == delay.reason.sentence && engine.timers.isSet(.storage))
        // The queue is not asked for the other one.
        guard case .held(let other) = engine.readiness(of: ids[1]) else {
          Issue.record("the other one begins")
          return
        }
        #expect(other.reason == delay.reason)
        #expect(other.remaining(now: fixture.clock.now, date: fixture.clock.date) == 0, "it begins with the next probe")
      }
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1, 2])))
      await fixture.settle()
      #expect(runner.running == [])
      for id in ids { #expect(try await client.status(id).waiting?.code == "storageUnavailable") }
    }
  }
}

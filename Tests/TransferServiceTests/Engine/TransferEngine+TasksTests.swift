import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Requests of apps about the tasks of their sessions.
@Suite struct TransferEngineTasksTests {
  private static let mebi: Int64 = 1 << 20

  @Test func cancellingSendsACompletionEvent() async throws {
    try await withEngine(serving: { _ in .never }) { fixture, server in
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
    }
  }

  @Test func anotherTaskContinuesFromTheResumePoint() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    try await withEngine(serving: resource) { fixture, server in
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
    }
  }

  @Test func anotherAppDoesNotGetTheBytesOfAResumePoint() async throws {
    let resource = FileResource(size: 100)
    try await withEngine(serving: resource) { fixture, server in
      let owner = fixture.client()
      try await owner.begin()
      let id = try await owner.create([.download("http://h/", running: false)])[0]
      let path = "\(fixture.files.deliveryDirectory)/\(id).A.resume"
      try resource.version.pattern.write(toFile: path, count: 50)
      let stranger = fixture.client("/stranger")
      try await stranger.begin()
      var forged = TransferDescription.download(server.url("/f").absoluteString)
      forged.resumePoint = ResumePoint(path: path, offset: 50, url: server.url("/f").absoluteString)
      forged.resumePoint?.entityTag = resource.version.etag
      _ = try await stranger.create([forged])
      #expect(try await stranger.nextEvent().download != nil)
      #expect(resource.served.map(\.offset) == [0] && FileManager.default.fileExists(atPath: path))
    }
  }

  /// A cancellation is answered once no crash can undo it.
  @Test(arguments: [false, true])
  func answersACancellationOnlyWhenItIsWritten(wantsResumePoint: Bool) async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    try await withEngine(serving: resource, { $0.storagePatience = 0.05 }) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
      _ = try await client.next { if case .progress = $0 { true } else { nil } }
      try await client.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      try await server.waitForOpenConnections(0)
      try await eventually("the bytes to be committed") {
        try fixture.store.transfer(id)?.head.committedOffset ?? 0 > 0
      }
      try fixture.breakQueue()
      let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: wantsResumePoint)
      fixture.engine.received(ClientMessage(id: 900, request: .cancelTask(cancel)), from: client)
      // A second request for the same, from outside the session.
      fixture.engine.received(
        ClientMessage(id: 901, request: .cancelTransfer(TransferReference(transfer: id))), from: client)
      await fixture.settle()
      func reply(_ id: UInt64) -> ServiceReply? {
        client.messages.all.compactMap { message -> ServiceReply? in
          if case .reply(id, let reply) = message { reply } else { nil }
        }.first
      }
      #expect(reply(900) == nil)
      // A person does not wait for the disk, and is told.
      try await eventually("an answer for the command line") { reply(901) != nil }
      guard case .refused(let refusal) = reply(901) else {
        Issue.record("answered before it was written")
        return
      }
      #expect(refusal.reason == .storage && refusal.message.contains("is cancelled, but"))
      #expect(try fixture.store.transfer(id)?.head.state == .suspended)
      try fixture.mendQueue()
      #expect(try await client.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
      await fixture.settle()
      guard case .cancelled(let cancelled) = reply(900) else {
        Issue.record("not answered")
        return
      }
      #expect((cancelled.resumePoint != nil) == wantsResumePoint)
    }
  }

  @Test func anInvalidatedSessionLeavesNothing() async throws {
    try await withEngine(serving: { _ in .never }) { fixture, server in
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
    }
  }

  @Test func changesADescription() async throws {
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/", running: false)])[0]
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.taskDescription = "a film"
      update.priority = 1
      #expect(try await client.ask(.updateTask(update)) == .done)
      guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.description.taskDescription == "a film" && shown.description.priority == 1)
      #expect(try await client.refusal(.updateTask(UpdateTask(session: "s", taskIdentifier: 9))) == .unknownTask)
      update.taskDescription = String(repeating: "x", count: TransferDescription.maximumLength)
      #expect(try await client.refusal(.updateTask(update)) == .tooLarge)
    }
  }

  @Test func limitsTheTransfersOfAnApp() async throws {
    try await withEngine({ $0.transfersPerApp = 3 }) { fixture in
      let client = fixture.client()
      try await client.begin("a")
      try await client.begin("b")
      let tasks = (1...4).map { TransferDescription.download("http://h/", task: $0, running: false) }
      #expect(try await client.create(Array(tasks.prefix(2)), session: "a").count == 2)
      #expect(
        try await client.refusal(.createTasks(CreateTasks(session: "b", tasks: Array(tasks.prefix(2))))) == .tooLarge)
      #expect(try await client.create([tasks[2]], session: "b").count == 1)
      #expect(try await client.refusal(.createTasks(CreateTasks(session: "a", tasks: [tasks[3]]))) == .tooLarge)
      // It is no other app's.
      let stranger = fixture.client("/stranger")
      try await stranger.begin("a")
      #expect(try await stranger.create([tasks[3]], session: "a").count == 1)
      // Transfers that are over and acknowledged do not count.
      try await client.ask(.cancelTask(CancelTask(session: "a", taskIdentifier: 1)))
      try await client.acknowledge([try await client.nextEvent()], session: "a")
      #expect(try await client.create([tasks[3]], session: "a").count == 1)
    }
  }

  /// The run is over and its file complete, but its end can't be written.
  @Test func aTransferWhoseEndIsNotWrittenIsNotStartedAgain() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 0.02 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/")])[0]
      try await eventually("the run") { runner.running == [id] }
      try fixture.breakQueue()
      try runner.finish(id, in: fixture)
      let selection = TaskSelection(session: "s", taskIdentifiers: [1])
      try await client.ask(.suspendTasks(selection))
      try await client.ask(.resumeTasks(selection))
      await fixture.settle()
      #expect(runner.running == [])
      guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.status.waiting?.code == "storage")
      // Until the end is written, a cancellation wins, and the file is removed.
      client.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      await fixture.settle()
      try fixture.mendQueue()
      #expect(try await client.nextEvent().completion?.failure?.code == URLError.Code.cancelled.rawValue)
      #expect(fixture.names("complete") == [])
    }
  }
}

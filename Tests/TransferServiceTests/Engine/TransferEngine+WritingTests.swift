import Dispatch
import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Changes of the queue while the disk keeps them waiting: each of them, its answer, and what refuses it.
@Suite struct TransferEngineWritingTests {
  /// An app and the tasks of its session: one runs, one is suspended, one is held by the user, and one is over. And another
  /// app.
  func withScene(
    _ body: (EngineFixture, ScriptedRunner, _ app: FakeClient, _ other: FakeClient) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let (app, other) = (fixture.client(), fixture.client("/other"))
      try await app.begin()
      let created = try await app.create([
        .download("http://h/1"), .download("http://h/2", task: 2, running: false), .download("http://h/3", task: 3),
        .download("http://h/4", task: 4),
      ])
      try #require(created == [1, 2, 3, 4])
      try await app.ask(.holdTransfer(TransferReference(transfer: 3)))
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 4)))
      #expect(try await app.nextEvent().sequence == 1)
      try await other.begin("o")
      await fixture.settle()
      #expect(runner.running == [1])
      try await body(fixture, runner, app, other)
    }
  }

  /// What was sent to the engine before is handled when this returns.
  func expectService(_ other: FakeClient) async throws {
    guard case .transfers = try await other.ask(.listTransfers(ListTransfers())) else {
      Issue.record("the other app is not served")
      return
    }
  }

  @Test(arguments: all) func othersAreServedMeanwhileAndTheAnswerFollowsTheDisk(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let number = try await fixture.holdingQueue {
        let number = app.tell(change.request)
        try await expectService(other)
        #expect(app.reply(to: number) == nil)
        #expect(try change.isDone(fixture.store) == false)
        return number
      }
      let reply = try await app.awaitReply(to: number)
      #expect(try change.isDone(fixture.store), "the answer is sent when the change is on the disk")
      if case .refused(let refusal) = reply { Issue.record("refused: \(refusal.message)") }
    }
  }

  @Test(arguments: ofTransfers) func aChangeThatCanNotBeWrittenChangesNothing(change: Change) async throws {
    try await withScene { fixture, runner, app, _ in
      try fixture.breakQueue("UPDATE ON transfers")
      var before: [TransferStatus] = []
      for id: Int64 in 1...3 { before.append(try await app.status(id)) }
      #expect(try await app.refusal(change.request) == .storage)
      await fixture.settle()
      for id: Int64 in 1...3 {
        let (after, before) = (try await app.status(id), before[Int(id) - 1])
        #expect(after.state == before.state && after.waiting?.code == before.waiting?.code)
        #expect(after.url == before.url && after.limits == before.limits)
      }
      #expect(try change.isDone(fixture.store) == false)
      #expect(runner.running == [1])
      try fixture.mendQueue()
      #expect(try await app.refusal(change.request) == nil)
      #expect(try change.isDone(fixture.store))
    }
  }

  private func expectRefusal(of change: Change, _ reply: ServiceReply, _ store: TransferStore) throws {
    if case .refused(let refusal) = reply {
      #expect([.unknownTask, .invalidRequest].contains(refusal.reason))
    } else {
      Issue.record("\(reply)")
    }
    #expect(try change.isDone(store) == false)
  }

  /// Its end is handed to the disk before the change.
  @Test(arguments: ofTransfers(["update", "hold", "edit", "limit a transfer"]))
  func aChangeOfATransferThatEndsMeanwhileIsRefused(change: Change) async throws {
    try await withScene { fixture, runner, app, other in
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1005, message: "Lost.")
      let number = try await fixture.holdingQueue {
        runner.end(1, .failed(failure, nil, received: 0))
        // Ends are gathered while requests wait.
        try await eventually("the end to be handed over") {
          fixture.engine.queue.sync { fixture.engine.gatheredEnds.isWriting }
        }
        let number = app.tell(change.request)
        try await expectService(other)
        return number
      }
      try expectRefusal(of: change, try await app.awaitReply(to: number), fixture.store)
    }
  }

  @Test(arguments: ofTransfers(["hold", "edit", "limit a transfer"]))
  func aChangeOfATransferThatGoesWithItsSessionIsRefused(change: Change) async throws {
    try await withScene { fixture, _, app, other in
      let person = fixture.client()
      try await person.greet()
      let number = try await fixture.holdingQueue {
        app.tell(.invalidate(SessionReference(session: "s")))
        let number = person.tell(change.request)
        try await expectService(other)
        return number
      }
      try expectRefusal(of: change, try await person.awaitReply(to: number), fixture.store)
    }
  }

  /// The file is on the disk when the app is told of it.
  @Test func othersAreServedWhileAResumePointIsMade() async throws {
    try await withScene { fixture, _, app, other in
      let response = ResponseSummary(url: "http://h/1", status: 200)
      try fixture.store.commit(
        offset: 4, representation: .init(response: response, validator: .init(entityTag: "\"x\""), expectedTotal: 9),
        of: 1)
      try fixture.folder.leaveFile("partial/1")
      try Data("part".utf8).write(to: URL(fileURLWithPath: fixture.files.partial(1)))
      let cancel = CancelTask(session: "s", taskIdentifier: 1, producingResumePoint: true)
      let number = try await fixture.disk.holding(.syncDirectory, path: "delivery") { isHeld in
        let number = app.tell(.cancelTask(cancel))
        try await eventually("the file to wait for the disk") { isHeld() }
        try await expectService(other)
        #expect(app.reply(to: number) == nil)
        return number
      }
      guard case .cancelled(let cancelled) = try await app.awaitReply(to: number) else {
        Issue.record("refused")
        return
      }
      #expect(cancelled.resumePoint?.offset == 4 && cancelled.resumePoint?.expectedTotal == 9)
      #expect(FileManager.default.fileExists(atPath: cancelled.resumePoint?.path ?? ""))
    }
  }
}

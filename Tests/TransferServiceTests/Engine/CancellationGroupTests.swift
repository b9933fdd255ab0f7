import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// One message that cancels many tasks.
@Suite struct CancellationGroupTests {
  private func cancellation(of tasks: [Int]) -> ClientRequest {
    .cancelTasks(TaskSelection(session: "s", taskIdentifiers: tasks))
  }

  private func withTasks(
    _ count: Int, limit: Int = 4_096, _ body: (EngineFixture, FakeClient) async throws -> Void
  ) async throws {
    try await withEngine(
      runner: ScriptedRunner(), { ($0.storagePatience, $0.waitingCancellationsPerApp) = (0.1, limit) }
    ) { fixture in
      let app = fixture.client()
      try await app.begin()
      let tasks = (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
      _ = try await app.create(tasks)
      try await body(fixture, app)
    }
  }

  @Test func allOfThemEndAndOneAnswerIsSent() async throws {
    try await withTasks(50) { fixture, app in
      // Some twice, and one that is unknown.
      #expect(try await app.ask(cancellation(of: Array(1...40) + [1, 2, 77])) == .done)
      #expect(try fixture.store.unfinishedHeads().map(\.taskIdentifier) == Array(41...50))
      let answers = app.messages.all.count { if case .reply(_, .done) = $0 { true } else { false } }
      // One is the answer to `startDelivery`.
      #expect(answers == 2)
      #expect(try await app.ask(cancellation(of: [1, 77])) == .done)
      var ended: [Int] = []
      while ended.count < 40 {
        let event = try await app.nextEvent()
        ended.append(event.taskIdentifier)
        try await app.acknowledge([event])
      }
      #expect(ended == Array(1...40))
      #expect(fixture.engine.waitsForNoCancellation)
    }
  }

  @Test func aMessageWithMoreThanMayWaitChangesNothing() async throws {
    try await withTasks(5, limit: 3) { fixture, app in
      let refusal = try await app.refusal(cancellation(of: [1, 2, 3, 4]))
      let left = try fixture.store.unfinishedHeads()
      #expect(refusal == .storage && left.count == 5)
      let answers = [try await app.ask(cancellation(of: [1, 2, 3])), try await app.ask(cancellation(of: [4, 5]))]
      let rest = try fixture.store.unfinishedHeads()
      #expect(answers == [.done, .done] && rest.isEmpty)
    }
  }

  @Test func theAnswerWaitsForTheDisk() async throws {
    try await withTasks(3, limit: 3) { fixture, app in
      try fixture.breakQueue()
      app.tell(cancellation(of: [1, 2]))
      await fixture.settle()
      #expect(try await app.refusal(cancellation(of: [1, 3])) == .storage)
      #expect(try fixture.store.unfinishedHeads().count == 3)
      app.disconnect()
      await fixture.settle()
      #expect(fixture.engine.waitsForNoCancellation)
      try fixture.mendQueue()
      let next = fixture.client()
      try await next.begin()
      let ended = Set([try await next.nextEvent().taskIdentifier, try await next.nextEvent().taskIdentifier])
      #expect(ended == [1, 2])
    }
  }
}

extension TransferEngine {
  fileprivate var waitsForNoCancellation: Bool { queue.sync { waitingCancellations.isEmpty } }
}

import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Cancellations that wait for a disk that takes nothing.
@Suite struct TransferEngineCancellationsTests {
  /// Two tasks that are not running, a queue that takes nothing, and room for one cancellation.
  private func withBrokenQueue(
    _ body: (EngineFixture, FakeClient, [TransferID]) async throws -> Void
  ) async throws {
    try await withEngine(runner: ScriptedRunner(), { ($0.storagePatience, $0.waitingCancellationsPerApp) = (0.1, 1) }) {
      fixture in
      let app = fixture.client()
      try await app.begin()
      let tasks = [1, 2].map { TransferDescription.download("http://h/", task: $0, running: false) }
      let ids = try await app.create(tasks)
      try fixture.breakQueue()
      try await body(fixture, app, ids)
    }
  }

  @Test func aRefusedCancellationChangesNothing() async throws {
    try await withBrokenQueue { fixture, app, ids in
      app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      let reason = try await app.refusal(.cancelTask(CancelTask(session: "s", taskIdentifier: 2)))
      #expect(reason == .storage)
      try fixture.mendQueue()
      let event = try await app.nextEvent()
      #expect(event.taskIdentifier == 1 && event.completion?.failure != nil)
      await fixture.settle()
      let second = try #require(ids.last)
      #expect(fixture.engine.state(of: second) == .suspended)
      #expect(fixture.engine.waitsForNothing)
      // There is room again.
      guard case .cancelled = try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 2))) else {
        Issue.record("not cancelled")
        return
      }
    }
  }

  @Test func aTransferThatIsOverIsNotCancelled() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.download("http://h/", running: false)]).first)
      let cancellation = ClientRequest.cancelTransfer(TransferReference(transfer: id))
      #expect(try await app.ask(cancellation) == .done)
      #expect(try await app.refusal(cancellation) == .invalidRequest)
    }
  }

  /// A connection that ends takes its cancellations along, but for what they want. A person's do not wait.
  @Test func theCancellationsOfAConnectionEndWithIt() async throws {
    try await withBrokenQueue { fixture, app, ids in
      let second = try #require(ids.last)
      app.tell(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
      await fixture.settle()
      let waits = !fixture.engine.waitsForNothing
      #expect(waits)
      app.disconnect()
      await fixture.settle()
      let waitsNoMore = fixture.engine.waitsForNothing
      #expect(waitsNoMore)
      let other = fixture.client()
      try await other.greet()
      let cancellation = ClientRequest.cancelTransfer(TransferReference(transfer: second))
      #expect(try await other.refusal(cancellation) == .storage)
      try fixture.mendQueue()
      let next = fixture.client()
      try await next.begin()
      let ended = Set([try await next.nextEvent().taskIdentifier, try await next.nextEvent().taskIdentifier])
      #expect(ended == [1, 2])
      await fixture.settle()
      #expect(fixture.engine.waitsForNothing)
    }
  }
}

extension TransferEngine {
  fileprivate func state(of id: TransferID) -> TransferMachine.State? { queue.sync { transfers[id]?.machine.state } }
  fileprivate var waitsForNothing: Bool { queue.sync { waitingCancellations.isEmpty } }
}

import Foundation
import GRDB
import LoopbackServer
import Synchronization
import Testing
import TransferProtocol

@testable import TransferService

/// Many cancellations at a time.
@Suite struct TransferEngineCancelledEndsTests {
  private final class CommitCounter: TransactionObserver, Sendable {
    let count = Atomic<Int>(0)

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) { count.add(1, ordering: .relaxed) }
    func databaseDidRollback(_ database: Database) {}
  }

  private func cancellation(of task: Int) -> ClientRequest {
    .cancelTask(CancelTask(session: "s", taskIdentifier: task))
  }

  /// Creates tasks, cancels them while the engine is busy, and returns the number of commits.
  private func commits(
    cancelling count: Int, _ fixture: EngineFixture, _ app: FakeClient, _ more: () -> Void = {}
  ) async throws -> Int {
    try await app.begin()
    let tasks = (1...count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
    #expect(try await app.create(tasks).count == count)
    let counter = CommitCounter()
    try fixture.store.database.writeWithoutTransaction { $0.add(transactionObserver: counter) }
    fixture.engine.queue.suspend()
    for task in 1...count { app.tell(cancellation(of: task)) }
    more()
    fixture.engine.queue.resume()
    await fixture.settle()
    try fixture.store.database.writeWithoutTransaction { $0.remove(transactionObserver: counter) }
    return counter.count.load(ordering: .relaxed)
  }

  @Test func cancellationsThatArriveTogetherAreOneCommit() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      #expect(try await commits(cancelling: 200, fixture, app) == 1)
      let answered = app.messages.all.count { if case .reply(_, .cancelled) = $0 { true } else { false } }
      #expect(answered == 200)
      // A window of events; the others follow their acknowledgement.
      var told: [SequencedEvent] = []
      while told.count < 200 {
        let event = try await app.nextEvent()
        told.append(event)
        #expect(event.completion?.failure?.code == URLError.Code.cancelled.rawValue)
        #expect(event.completion?.failure?.url == "http://h/\(event.taskIdentifier)")
        try await app.acknowledge([event])
      }
      #expect(told.map(\.taskIdentifier) == Array(1...200))
    }
  }

  /// The session goes while the ends of its transfers are gathered.
  @Test func transfersThatGoWithTheirSessionMeanwhileAreNotWritten() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      _ = try await commits(cancelling: 20, fixture, app) {
        app.tell(.invalidate(SessionReference(session: "s")))
      }
      #expect(app.events.isEmpty)
      #expect(try fixture.store.unfinishedHeads().isEmpty)
      let answered = app.messages.all.count { if case .reply(_, .cancelled) = $0 { true } else { false } }
      #expect(answered == 20)
    }
  }

  @Test func endsThatAreGatheredAreWrittenBeforeTheServiceEnds() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let app = fixture.client()
      try await app.begin()
      let tasks = (1...20).map { TransferDescription.download("http://h/", task: $0, running: false) }
      _ = try await app.create(tasks)
      for task in 1...20 { app.tell(cancellation(of: task)) }
      let next = try await fixture.nextLife()
      #expect(try next.store.unfinishedHeads().isEmpty)
    }
  }
}

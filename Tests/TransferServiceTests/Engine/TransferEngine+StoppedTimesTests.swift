import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// The time for the whole resource, of transfers that their apps suspend or the user pauses.
@Suite struct TransferEngineStoppedTimesTests {
  enum Stop: CaseIterable, CustomTestStringConvertible {
    case suspension, pause

    var testDescription: String { self == .suspension ? "suspended by its app" : "paused by the user" }

    fileprivate func begin(_ id: TransferID, _ client: FakeClient) async throws {
      let request: ClientRequest =
        self == .suspension
        ? .suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1]))
        : .holdTransfer(TransferReference(transfer: id))
      #expect(try await client.ask(request) == .done)
    }

    fileprivate func end(_ id: TransferID, _ client: FakeClient) async throws {
      let request: ClientRequest =
        self == .suspension
        ? .resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1]))
        : .releaseTransfer(TransferReference(transfer: id))
      #expect(try await client.ask(request) == .done)
    }
  }

  private static var options: SessionOptions {
    var options = SessionOptions()
    options.timeoutIntervalForResource = 100
    return options
  }

  /// With a transfer that has 100 seconds, of which 60 have passed.
  private func withRun(
    _ body: (EngineFixture, FakeClient, ScriptedRunner, TransferID) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      let id = try #require(try await client.create([.download("http://h/")]).first)
      try await eventually("it to run") { runner.running == [id] }
      await fixture.advance(by: 60)
      try await body(fixture, client, runner, id)
    }
  }

  private func remaining(_ id: TransferID, _ runner: ScriptedRunner) async throws -> TimeInterval {
    try await eventually("it to run again") { runner.running == [id] }
    return try #require(runner.job(id)?.remainingTime)
  }

  private func isAbout(_ expected: TimeInterval, _ time: TimeInterval) -> Bool { abs(time - expected) < 0.5 }

  @Test(arguments: Stop.allCases) func theTimeStandsStill(_ stop: Stop) async throws {
    try await withRun { fixture, client, runner, id in
      try await stop.begin(id, client)
      await fixture.advance(by: 10_000)
      #expect(client.events.isEmpty && runner.running == [])
      try await stop.end(id, client)
      #expect(try await isAbout(40, remaining(id, runner)))
      // It goes on, also while it waits.
      runner.end(id, .retry(.cancelled(nil), kept: KeptBytes(0), received: 0))
      await fixture.settle()
      await fixture.advance(by: 41)
      #expect(try await client.nextEvent().completion?.failure?.code == URLError.Code.timedOut.rawValue)
    }
  }

  @Test(arguments: Stop.allCases) func theTimeStandsStillAcrossLives(_ stop: Stop) async throws {
    try await withRun { fixture, client, runner, id in
      try await stop.begin(id, client)
      await fixture.settle()
      await fixture.shutDown()
      fixture.clock.advance(by: 10_000)
      var life = try await fixture.nextLife()
      await life.shutDown()
      fixture.clock.restartMachine(after: 10_000)
      life = try await life.nextLife()
      let again = life.client()
      try await again.begin("s", options: Self.options)
      await life.advance(by: 10_000)
      #expect(again.events.isEmpty && runner.running == [])
      try await stop.end(id, again)
      #expect(try await isAbout(40, remaining(id, runner)))
      // What had passed before the pause counts after the next start of the machine, too.
      await life.shutDown()
      fixture.clock.restartMachine(after: 10)
      life = try await life.nextLife()
      #expect(try await remaining(id, runner) < 40)
    }
  }

  @Test func ofTwoStopsBothHaveToEnd() async throws {
    try await withRun { fixture, client, runner, id in
      try await Stop.suspension.begin(id, client)
      await fixture.advance(by: 500)
      try await Stop.pause.begin(id, client)
      await fixture.advance(by: 500)
      try await Stop.suspension.end(id, client)
      await fixture.advance(by: 500)
      #expect(client.events.isEmpty && runner.running == [])
      try await Stop.pause.end(id, client)
      #expect(try await isAbout(40, remaining(id, runner)))
    }
  }

  /// The user paused it before its app began it.
  @Test func theTimeBeginsAfterThePause() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      let id = try #require(try await client.create([.download("http://h/", running: false)]).first)
      try await Stop.pause.begin(id, client)
      try await Stop.suspension.end(id, client)
      await fixture.advance(by: 500)
      try await Stop.pause.end(id, client)
      #expect(try await remaining(id, runner) == 100)
    }
  }

  /// A date ahead moves the beginning to it, also while the time stands still.
  @Test func aDateThatIsMovedCounts() async throws {
    try await withRun { fixture, client, runner, id in
      try await Stop.suspension.begin(id, client)
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.earliestBeginDate = fixture.clock.date + 300
      try await client.ask(.updateTask(update))
      await fixture.advance(by: 100)
      try await Stop.suspension.end(id, client)
      await fixture.advance(by: 150)
      #expect(client.events.isEmpty && runner.running == [])
      await fixture.advance(by: 51)
      #expect(try await remaining(id, runner) > 98)
    }
  }

  /// The service was killed between the state and the time, or was of an earlier version.
  @Test func timesAreBroughtInLineWithStates() async throws {
    try await withRun { fixture, client, runner, id in
      let running = try #require(try fixture.store.transfer(id)?.started)
      try await Stop.suspension.begin(id, client)
      await fixture.settle()
      let stopped = try #require(try fixture.store.transfer(id)?.started)
      #expect(stopped.passed == 60)
      try fixture.store.setStarted([id: running])
      var life = try await fixture.nextLife()
      #expect(try life.store.transfer(id)?.started?.passed == 60)
      var again = life.client()
      try await again.begin("s", options: Self.options)
      try await Stop.suspension.end(id, again)
      try await eventually("it to run again") { runner.running == [id] }
      await life.shutDown()
      // As if the end of the suspension were not written.
      let (store, clock) = (
        try TransferStore.open(in: fixture.folder.path, bootID: fixture.clock.bootID), fixture.clock
      )
      try store.setStarted([id: stopped])
      try store.close()
      clock.advance(by: 10)
      life = try await life.nextLife()
      let continued = try life.store.transfer(id)?.started
      #expect(continued != nil && continued?.passed == nil)
      again = life.client()
      try await again.begin("s", options: Self.options)
      #expect(try await isAbout(40, remaining(id, runner)))
    }
  }

  @Test func aTimeThatCanNotBeWrittenIsWrittenLater() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.storagePatience = 0.05 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      let id = try #require(try await client.create([.download("http://h/")]).first)
      try await eventually("it to run") { runner.running == [id] }
      await fixture.advance(by: 60)
      try fixture.store.database.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER broken BEFORE UPDATE OF started ON transfers
            WHEN CAST(new.started AS TEXT) LIKE '%"passed"%'
            BEGIN SELECT RAISE(ABORT, 'a broken disk'); END
            """)
      }
      try await Stop.suspension.begin(id, client)
      await fixture.settle()
      let unwritten = try fixture.store.transfer(id)?.started
      #expect(unwritten?.passed == nil)
      try fixture.mendQueue()
      try await eventually("the time") { try fixture.store.transfer(id)?.started?.passed == 60 }
    }
  }

  /// Their ends need no times.
  @Test func aSuspendedTransferThatIsCancelledKeepsItsTime() async throws {
    try await withRun { fixture, client, _, id in
      try await Stop.suspension.begin(id, client)
      await fixture.settle()
      let commits = try await CommitCounter.count(of: fixture.store) {
        try await client.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 1)))
        await fixture.settle()
      }
      #expect(commits == 1)
      #expect(try fixture.store.transfer(id)?.started?.passed == 60)
    }
  }
}

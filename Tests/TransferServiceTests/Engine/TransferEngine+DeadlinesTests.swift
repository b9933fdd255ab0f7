import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// The time for the whole resource, of transfers that do not run.
@Suite struct TransferEngineDeadlinesTests {
  private static var options: SessionOptions {
    var options = SessionOptions()
    options.timeoutIntervalForResource = 100
    return options
  }

  private func download(_ task: Int, running: Bool = true) -> TransferDescription {
    .download("http://h/\(task)", task: task, running: running)
  }

  @Test func aTransferThatNeverGetsItsTurnEnds() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      let ids = try await client.create([download(1), download(2)])
      try await eventually("the first to run") { runner.running == [ids[0]] }
      await fixture.advance(by: 99)
      #expect(client.events.isEmpty)
      await fixture.advance(by: 1)
      let event = try await client.nextEvent()
      #expect(event.taskIdentifier == 2 && event.completion?.failure?.code == URLError.Code.timedOut.rawValue)
      #expect(event.completion?.failure?.url == "http://h/2")
      #expect(runner.running == [ids[0]], "a run ends by itself")
    }
  }

  /// Also where the machine starts again and again: the part of the time that passed before counts.
  @Test func theNextLivesCountOn() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      _ = try await client.create([download(1), download(2)])
      var life = fixture
      for _ in 1...3 {
        await life.shutDown()
        fixture.clock.restartMachine(after: 30)
        life = try await life.nextLife()
      }
      let again = life.client()
      try await again.begin("s", options: Self.options)
      #expect(again.events.isEmpty)
      // A little more than the rest: the wall clock is not as fine.
      await life.advance(by: 10.1)
      #expect(try await again.nextEvent().completion?.failure?.code == URLError.Code.timedOut.rawValue)
    }
  }

  /// The time is that of the machine's own clock, in this life of the service and in the next.
  @Test(arguments: [86_400, -86_400, 1e9, -1e9])
  func aWallClockThatIsSetNeitherLengthensNorShortensTheTime(_ jump: TimeInterval) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      _ = try await client.create([download(1), download(2)])
      await fixture.advance(by: 50)
      fixture.clock.setWallClock(forward: jump)
      await fixture.advance(by: 20)
      #expect(client.events.isEmpty)
      let life = try await fixture.nextLife()
      let again = life.client()
      try await again.begin("s", options: Self.options)
      fixture.clock.setWallClock(forward: -2 * jump)
      await life.advance(by: 29)
      #expect(again.events.isEmpty)
      await life.advance(by: 1)
      let event = try await again.nextEvent()
      #expect(event.completion?.failure?.code == URLError.Code.timedOut.rawValue)
    }
  }

  /// The machine's own clock goes on while it sleeps, and no timer fires.
  @Test func whatCameDueWhileTheMachineSleptIsDoneWhenItWakes() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      var later = download(3)
      later.earliestBeginDate = fixture.clock.date + 5_000
      let ids = try await client.create([download(1), download(2), later])
      try await eventually("the first to run") { runner.running == [ids[0]] }
      fixture.clock.advance(by: 5_050)
      runner.end(ids[0], .failed(.cancelled(nil), nil, received: 0))
      // The next look at the clock, after half a minute of being awake at the latest.
      await fixture.advance(by: 30)
      let events = [try await client.nextEvent(), try await client.nextEvent()]
      let late = events.first { $0.taskIdentifier == 2 }
      #expect(late?.completion?.failure?.code == URLError.Code.timedOut.rawValue)
      try await eventually("the one that was to begin meanwhile to run") { runner.running == [ids[2]] }
      #expect((runner.job(ids[2])?.remainingTime ?? 0) > 0)
    }
  }

  @Test func theTimeBeginsWhenTheAppWantsIt() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      var later = download(2)
      later.earliestBeginDate = fixture.clock.date + 150
      let ids = try await client.create([download(1, running: false), later, download(3, running: false)])
      await fixture.advance(by: 120)
      #expect(client.events.isEmpty, "one is suspended, the other waits for its date")
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1, 3])))
      try await eventually("the first to run") { runner.running == [ids[0]] }
      await fixture.advance(by: 99)
      #expect(client.events.isEmpty)
      await fixture.advance(by: 1)
      #expect(try await client.nextEvent().taskIdentifier == 3)
      await fixture.advance(by: 29)
      #expect(client.events.count == 1)
      await fixture.advance(by: 1)
      #expect(try await client.nextEvent().taskIdentifier == 2)
    }
  }

  @Test func aDateThatIsMovedMovesTheTime() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin("s", options: Self.options)
      var description = download(1)
      description.earliestBeginDate = fixture.clock.date + 50
      let id = try await client.create([description])[0]
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.earliestBeginDate = fixture.clock.date + 300
      try await client.ask(.updateTask(update))
      await fixture.advance(by: 250)
      #expect(client.events.isEmpty && runner.running == [])
      // No date.
      update.earliestBeginDate = .distantPast
      update.countOfBytesClientExpectsToSend = 5
      update.countOfBytesClientExpectsToReceive = 9
      try await client.ask(.updateTask(update))
      try await eventually("it to run") { runner.running == [id] }
      #expect(runner.job(id)?.remainingTime == 100)
      let stored = try fixture.store.transfer(id)
      #expect(stored?.description.earliestBeginDate == nil && stored?.head.earliestBegin == nil)
      #expect(stored?.description.countOfBytesClientExpectsToSend == 5)
      #expect(stored?.description.countOfBytesClientExpectsToReceive == 9)
    }
  }

  @Test func anotherLimitOfTheSessionCounts() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([download(1), download(2)])
      await fixture.advance(by: 200)
      _ = try await client.attach("s", options: Self.options)
      try await client.ask(.startDelivery(SessionReference(session: "s")))
      #expect(try await client.nextEvent().taskIdentifier == 2)
    }
  }
}

import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Transfers that can wait.
@Suite struct TransferEngineDiscretionTests {
  private static var discretionary: SessionOptions {
    var options = SessionOptions()
    options.isDiscretionary = true
    options.timeoutIntervalForResource = 1_000
    return options
  }

  private func status(_ id: Int64, _ client: FakeClient) async throws -> TransferStatus? {
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      return nil
    }
    return shown.status
  }

  private func withConditions(
    _ conditions: FakeConditions, _ body: (FakeConditions, ScriptedRunner, EngineFixture) async throws -> Void
  ) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) {
      $0.conditions = conditions
    } _: {
      try await body(conditions, runner, $0)
    }
  }

  private func onBattery() -> FakeConditions {
    var conditions = MachineConditions()
    conditions.isOnBattery = true
    return FakeConditions(conditions)
  }

  @Test func aDiscretionaryTransferRunsWhenTheConditionsAllow() async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [])
      let waiting = try await status(id, client)?.waiting
      #expect(waiting?.code == "discretionary.onBattery")
      #expect(waiting?.nextAttempt == fixture.clock.date + 500, "they relax at half of the time")

      conditions.become { $0.isOnBattery = false }
      await fixture.settle()
      #expect(runner.running == [id] && runner.job(id)?.pace?.yields == true)

      // It stops when the power goes, and goes on when it is back.
      conditions.become { $0.isOnBattery = true }
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await status(id, client)?.waiting?.code == "discretionary.onBattery")
      await fixture.advance(by: 501)
      #expect(runner.running == [id], "near the deadline it runs on battery")
      try runner.finish(id, in: fixture)
      _ = try await client.nextEvent()
      await fixture.settle()
      #expect(!conditions.isStarted, "without such transfers the services are not listened to")
    }
  }

  @Test func otherTransfersDoNotWait() async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [id] && runner.job(id)?.pace?.yields == false && !conditions.isStarted)
    }
  }

  @Test func conditionsThatAreNotReadYetAreWaitedFor() async throws {
    try await withConditions(FakeConditions(nil)) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [] && conditions.isStarted)
      #expect(try await status(id, client)?.waiting?.code == "conditionsUnknown")
      conditions.become { _ in }
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  /// The session is in the foreground while a process holds it that the service did not start.
  @Test func whatIsMadeInTheBackgroundWaitsUntilTheAppIsInTheForeground() async throws {
    try await withConditions(onBattery()) { _, runner, fixture in
      let client = fixture.client()
      try await client.begin()
      let first = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      client.disconnect()
      try runner.finish(first, in: fixture)
      let launch = try await fixture.launcher.launches.next()

      let launched = fixture.client()
      try await launched.begin()
      try await launched.acknowledge([try await launched.nextEvent(), try await launched.nextEvent()])
      let second = try await launched.create([.download("http://h/2", task: 2)])[0]
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await status(second, launched)?.waiting?.code == "discretionary.onBattery")
      try await launched.ask(.doneHandlingEvents(SessionReference(session: "s")))
      launched.disconnect()
      launch.ended()
      await fixture.settle()
      #expect(runner.running == [])

      let opened = fixture.client()
      try await opened.begin()
      await fixture.settle()
      #expect(runner.running == [second] && runner.job(second)?.pace?.yields == false)
    }
  }

  @Test func attachingWithAnotherConfigurationChangesWhatWaits() async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [])
      _ = try await client.attach("s", options: SessionOptions())
      await fixture.settle()
      #expect(runner.running == [id] && !conditions.isStarted)
    }
  }

  @Test func aHintThatItIsSmallLetsItRun() async throws {
    try await withConditions(onBattery()) { _, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [])
      var hint = UpdateTask(session: "s", taskIdentifier: 1)
      hint.countOfBytesClientExpectsToReceive = 1_000
      try await client.ask(.updateTask(hint))
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  @Test func aTransferThatIsTooSlowGoesOnLater() async throws {
    try await withConditions(FakeConditions()) { conditions, runner, fixture in
      let client = fixture.client()
      var options = Self.discretionary
      options.timeoutIntervalForResource = 100_000
      try await client.begin(options: options)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      fixture.clock.advance(by: ThroughputWatch.interval)
      runner.report(.progressed(received: 1_000, expectedTotal: 1_000_000, kept: KeptBytes(1_000)), by: id)
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await status(id, client)?.waiting?.code == "poorThroughput")
      await fixture.advance(by: ThroughputWatch.pause + 1)
      #expect(runner.running == [id])
    }
  }

  /// A session that is not discretionary starts at once in the next life, and one that is waits.
  @Test func theNextLifeDecidesAnew() async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      _ = try await client.create([.download("http://h/1")])
      await fixture.settle()
      let next = try await fixture.nextLife()
      await next.settle()
      #expect(runner.running == [])
      conditions.become { $0.isOnBattery = nil }
      await next.settle()
      #expect(runner.running.count == 1)
    }
  }
}

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
      let waiting = try await client.status(id).waiting
      #expect(waiting?.code == "discretionary.onBattery")
      #expect(waiting?.nextAttempt == fixture.clock.date + 500, "they relax at half of the time")

      conditions.become { $0.isOnBattery = false }
      await fixture.settle()
      #expect(runner.running == [id] && runner.job(id)?.pace?.yields == true)

      // It stops when the power goes, and goes on when it is back.
      conditions.become { $0.isOnBattery = true }
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await client.status(id).waiting?.code == "discretionary.onBattery")
      await fixture.advance(by: 501)
      #expect(runner.running == [id], "near the deadline it runs on battery")
      try runner.finish(id, in: fixture)
      _ = try await client.nextEvent()
      await fixture.settle()
      #expect(!conditions.isStarted, "without such transfers the services are not listened to")
    }
  }

  /// The time is that of the deadline.
  @Test func anEarliestDateBeginsTheTime() async throws {
    try await withConditions(onBattery()) { _, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      var later = TransferDescription.download("http://h/1")
      later.earliestBeginDate = fixture.clock.date + 600
      let id = try await client.create([later])[0]
      await fixture.advance(by: 600)
      #expect(runner.running == [])
      let waiting = try await client.status(id).waiting
      #expect(waiting?.code == "discretionary.onBattery")
      #expect(waiting?.nextAttempt == fixture.clock.date + 500)
      await fixture.advance(by: 501)
      #expect(runner.running == [id])
    }
  }

  @Test func aLateResumeBeginsTheTime() async throws {
    try await withConditions(onBattery()) { _, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1", running: false)])[0]
      await fixture.advance(by: 900)
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await client.status(id).waiting?.nextAttempt == fixture.clock.date + 500)
    }
  }

  @Test(arguments: [100_000.0, -100_000]) func aClockThatIsSetChangesNoTime(seconds: TimeInterval) async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      fixture.clock.setWallClock(forward: seconds)
      // It is decided anew.
      conditions.become { $0.load = 0.1 }
      await fixture.advance(by: 100)
      #expect(runner.running == [])
      #expect(try await client.status(id).waiting?.nextAttempt == fixture.clock.date + 400)
      await fixture.advance(by: 401)
      #expect(runner.running == [id])
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

  /// It begins at once: no condition is asked for.
  @Test(
    arguments: [
      (nil, nil, false), (3, nil, true), (nil, 3, true), (0, 3, true), (6, 3, false), (3, 6, true), (99, nil, false),
    ] as [(UInt?, UInt?, Bool)])
  func trafficThatTheUserDoesNotWaitForYields(ofRequest: UInt?, ofSession: UInt?, yields: Bool) async throws {
    try await withConditions(onBattery()) { conditions, runner, fixture in
      let client = fixture.client()
      var options = SessionOptions()
      options.networkServiceType = ofSession
      try await client.begin(options: options)
      var new = TransferDescription.download("http://h/1")
      new.request.networkServiceType = ofRequest
      let id = try await client.create([new])[0]
      await fixture.settle()
      #expect(runner.running == [id] && runner.job(id)?.pace?.yields == yields && !conditions.isStarted)
      // Another configuration of the session counts from now on.
      options.networkServiceType = 3
      _ = try await client.attach("s", options: options)
      await fixture.settle()
      #expect(runner.job(id)?.pace?.yields == (ofRequest ?? 0 == 0 || ofRequest == 3))
    }
  }

  @Test func conditionsThatAreNotReadYetAreWaitedFor() async throws {
    try await withConditions(FakeConditions(nil)) { conditions, runner, fixture in
      let client = fixture.client()
      try await client.begin(options: Self.discretionary)
      let id = try await client.create([.download("http://h/1")])[0]
      await fixture.settle()
      #expect(runner.running == [] && conditions.isStarted)
      #expect(try await client.status(id).waiting?.code == "conditionsUnknown")
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
      #expect(try await launched.status(second).waiting?.code == "discretionary.onBattery")
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

  /// The service has started it for another session, or in an earlier life.
  @Test func whatAStartedProcessMakesInAnotherSessionWaits() async throws {
    try await withConditions(onBattery()) { _, runner, fixture in
      let launched = fixture.client()
      try await launched.begin("other", isOfLaunch: true)
      let id = try await launched.create([.download("http://h/1")], session: "other")[0]
      await fixture.settle()
      #expect(runner.running == [])
      #expect(try await launched.status(id).waiting?.code == "discretionary.onBattery")
      launched.disconnect()
      let opened = fixture.client()
      try await opened.begin("other")
      await fixture.settle()
      #expect(runner.running == [id])
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
      #expect(try await client.status(id).waiting?.code == "poorThroughput")
      await fixture.advance(by: ThroughputWatch.pause + 1)
      try await eventually("it to go on") { runner.running == [id] }
    }
  }

  // MARK: Uploads

  private static let fileSize = 6_000_000

  private static func sent(_ count: Int64, kept: Int64 = 0) -> DownloadReport {
    .sent(SentBytes(count, of: Int64(fileSize)), kept: KeptBytes(kept, of: Int64(fileSize)))
  }

  /// Queues an upload that can wait.
  private func withUpload(
    _ method: String = "PUT", _ conditions: FakeConditions = FakeConditions(), size: Int = fileSize,
    _ change: (inout TransferDescription) -> Void = { _ in },
    _ body: (TransferID, FakeClient, ScriptedRunner, EngineFixture) async throws -> Void
  ) async throws {
    try await withConditions(conditions) { _, runner, fixture in
      let path = fixture.appFolder.path + "/file"
      try Data().write(to: URL(fileURLWithPath: path))
      #expect(truncate(path, size) == 0)
      let client = fixture.client()
      var options = Self.discretionary
      options.timeoutIntervalForResource = 100_000
      try await client.begin(options: options)
      var description = TransferDescription.upload(path, to: "http://h/1", method: method)
      change(&description)
      let id = try #require(try await client.create([description]).first)
      await fixture.settle()
      try await body(id, client, runner, fixture)
    }
  }

  /// The bytes of its answer are no measure of an upload: there are none while it is sent, and few afterwards.
  @Test func anUploadThatTakesLongIsNotStoppedByItsAnswer() async throws {
    try await withUpload { id, client, runner, fixture in
      for part in 1...10 {
        fixture.clock.advance(by: 60)
        runner.report(Self.sent(Int64(part * Self.fileSize / 10)), by: id)
        await fixture.settle()
        #expect(runner.running == [id])
      }
      // The server takes its time, then answers in two pieces.
      fixture.clock.advance(by: 600)
      runner.report(Self.sent(Int64(Self.fileSize)), by: id)
      runner.report(.responded(ResponseSummary(url: "http://h/1", status: 200)), by: id)
      for received: Int64 in [2, 4] {
        fixture.clock.advance(by: 300)
        runner.report(.progressed(received: received, expectedTotal: 4, kept: KeptBytes(0)), by: id)
        await fixture.settle()
        #expect(runner.running == [id])
      }
      try runner.finish(id, in: fixture)
      #expect(try await client.nextEvent().download?.response?.status == 200)
    }
  }

  @Test func anUploadThatCrawlsGoesOnLater() async throws {
    try await withUpload { id, client, runner, fixture in
      runner.report(Self.sent(300_000), by: id)
      await fixture.settle()
      fixture.clock.advance(by: ThroughputWatch.interval)
      runner.report(Self.sent(1_100_000), by: id)
      await fixture.settle()
      #expect(runner.running == [id])
      fixture.clock.advance(by: ThroughputWatch.interval)
      runner.report(Self.sent(1_200_000), by: id)
      await fixture.settle()
      #expect(runner.running == [])
      let waiting = try await client.status(id).waiting?.code
      #expect(waiting == "poorThroughput")
      await fixture.advance(by: ThroughputWatch.pause + 1)
      try await eventually("it to go on") { runner.running == [id] }
      // It begins anew, and has sent less than the run before.
      fixture.clock.advance(by: ThroughputWatch.interval - 1)
      runner.report(Self.sent(600_000), by: id)
      await fixture.settle()
      #expect(runner.running == [id])
    }
  }

  /// The next try of a request that the server may have would fail.
  @Test(arguments: [true, false])
  func aRunWhoseRequestCanNotBeMadeAgainGoesOn(isOnBattery: Bool) async throws {
    let conditions = FakeConditions()
    try await withUpload("POST", conditions) { id, client, runner, fixture in
      runner.makeRequestsUnrepeatable()
      runner.report(Self.sent(5_500_000), by: id)
      await fixture.settle()
      if isOnBattery { conditions.become { $0.isOnBattery = true } }
      // In the first interval it was fast.
      for count: Int64 in [5_500_001, 5_500_002] {
        fixture.clock.advance(by: ThroughputWatch.interval)
        runner.report(Self.sent(count), by: id)
        await fixture.settle()
      }
      #expect(runner.running == [id] && runner.runningOn == [id])
      #expect(try await client.status(id).state == .running)
      try runner.finish(id, in: fixture)
      #expect(try await client.nextEvent().download?.response?.status == 200)
    }
  }

  /// The size of an upload is that of its file, whatever was announced of an answer.
  @Test(
    arguments: [
      ("large", 101 << 20, 0, -1, "discretionary.userActive"),
      ("large of which little is left", 101 << 20, 100 << 20, -1, nil),
      ("small", 2_000, 0, -1, nil), ("small with a large answer", 2_000, 0, 200 << 20, "discretionary.userActive"),
    ] as [(String, Int, Int64, Int64, String?)])
  func theSizeOfAnUploadIsThatOfItsFile(
    _ name: String, _ size: Int, _ kept: Int64, _ answer: Int64, _ reason: String?
  ) async throws {
    let conditions = FakeConditions()
    try await withUpload("PUT", conditions, size: size) {
      $0.countOfBytesClientExpectsToSend = 5
      $0.countOfBytesClientExpectsToReceive = answer
    } _: { id, client, runner, fixture in
      runner.report(
        .sent(SentBytes(kept, of: Int64(size)), kept: KeptBytes(kept, of: Int64(size))), by: id)
      // An answer's length.
      var response = ResponseSummary(url: "http://h/1", status: 503)
      response.expectedContentLength = 20
      runner.report(.responded(response), by: id)
      await fixture.settle()
      conditions.become { $0.isUserIdle = false }
      let failure = TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.networkConnectionLost.rawValue, message: "m")
      runner.end(id, .retry(failure, kept: KeptBytes(kept, of: Int64(size)), received: 0))
      await fixture.settle()
      await fixture.advance(by: 700)
      let waiting = try await client.status(id).waiting?.code
      #expect(waiting == reason && runner.running == (reason == nil ? [id] : []))
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

import Foundation
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Options of tasks beyond Apple's API: the expected file, the number of tries, the rate.
@Suite struct TransferEngineTaskOptionsTests {
  @Test func anExpectationIsKeptAndItsFailureTold() async throws {
    try await withEngine(serving: FileResource(size: 1_000)) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      var description = TransferDescription.download(server.url("/f").absoluteString, running: false)
      description.expectation = ContentExpectation(sha256: Data(repeating: 9, count: 32))
      _ = try await client.create([description])
      let next = try await fixture.nextLife()
      let again = next.client()
      let attached = try #require(try await again.begin())
      #expect(attached.page.tasks.first?.description.expectation == description.expectation)
      try await again.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      let completion = try #require(try await again.nextEvent().completion)
      #expect(completion.failure?.mismatch?.expectedSHA256 == Data(repeating: 9, count: 32))
      #expect(completion.failure?.code == URLError.Code.cannotDecodeContentData.rawValue)
      #expect(completion.transactions?.map { $0.response?.status } == [200])
      #expect(next.names("complete").isEmpty && next.names("partial").isEmpty)
    }
  }

  static let refused: [(name: String, change: @Sendable (inout TransferDescription) -> Void)] = [
    ("a short digest", { $0.expectation = ContentExpectation(sha256: Data([1, 2])) }),
    ("a negative length", { $0.expectation = ContentExpectation(byteCount: -1) }),
    (
      "no try at all",
      {
        $0.retry = RetryDescription()
        $0.retry?.maximumAttempts = 0
      }
    ),
    (
      "a negative pause",
      {
        $0.retry = RetryDescription()
        $0.retry?.pause = -1
      }
    ),
    (
      "too many statuses",
      {
        $0.retry = RetryDescription()
        $0.retry?.statuses = Array(0...1_000)
      }
    ),
  ]

  @Test(arguments: refused.map(\.name)) func wishesThatMakeNoSenseAreRefused(name: String) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let client = fixture.client()
      try await client.begin()
      var description = TransferDescription.download("http://h/1")
      try #require(Self.refused.first { $0.name == name }).change(&description)
      let creation = CreateTasks(session: "s", tasks: [description])
      #expect(try await client.refusal(.createTasks(creation)) == .invalidRequest)
    }
  }

  /// The value of the task counts, and where it has none that of the session.
  @Test(arguments: [(ofTask: 8.0, delay: 8.0), (nil, 20)])
  func retriesWaitAsTheAppWants(ofTask: Double?, delay: Double) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      var options = SessionOptions()
      options.retry = RetryDescription()
      options.retry?.pause = 20
      try await client.begin(options: options)
      var description = TransferDescription.download("http://h/1")
      if let ofTask {
        description.retry = RetryDescription()
        description.retry?.pause = ofTask
      }
      let id = try await client.create([description])[0]
      await fixture.settle()
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1_005, message: "broken")
      runner.end(id, .retry(failure, kept: KeptBytes(0), received: 0))
      await fixture.settle()
      await fixture.advance(by: delay - 0.1)
      #expect(runner.running.isEmpty)
      await fixture.advance(by: delay / 4 + 0.2)
      #expect(runner.running == [id])
      #expect(runner.job(id)?.retry?.pause == ofTask ?? 20)
    }
  }

  // MARK: Limits

  private func limits(_ id: Int64, _ client: FakeClient) async throws -> [TransferLimit]? {
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      return []
    }
    return shown.status.limits
  }

  @Test func limitsOfTheAppCountBesideThoseOfTheUser() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      var options = SessionOptions()
      options.bytesPerSecond = 50_000
      try await client.begin(options: options)
      var description = TransferDescription.download("http://h/1")
      description.bytesPerSecond = 5
      let id = try await client.create([description])[0]
      await fixture.settle()
      let lowest = TransferLimit(scope: .transfer, limit: .init(bytesPerSecond: BandwidthLimit.lowest))
      let ofSession = TransferLimit(scope: .session, limit: .init(bytesPerSecond: 50_000))
      #expect(try await limits(id, client) == [lowest, ofSession])
      try await client.ask(
        .limit(LimitTransfers(subject: .session("s"), limit: BandwidthLimit(bytesPerSecond: 2_000))))
      let ofUser = TransferLimit(scope: .session, limit: .init(bytesPerSecond: 2_000))
      #expect(try await limits(id, client) == [lowest, ofUser, ofSession])

      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.bytesPerSecond = 0
      try await client.ask(.updateTask(update))
      _ = try await client.attach(options: SessionOptions())
      #expect(try await limits(id, client) == [ofUser])
    }
  }

  @Test func limitsOfTheAppForHoursCountBesideThoseOfTheUser() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      let (day, night) = (DailyHours("08:00-18:00"), DailyHours("22:00-06:00"))
      var options = SessionOptions()
      options.bytesPerSecond = 50_000
      // One without hours is none of these.
      options.hourlyLimits = [
        BandwidthLimit(bytesPerSecond: nil, hours: night), BandwidthLimit(bytesPerSecond: nil),
        BandwidthLimit(bytesPerSecond: 9_000),
      ]
      try await client.begin(options: options)
      var description = TransferDescription.download("http://h/1")
      description.hourlyLimits =
        [BandwidthLimit(bytesPerSecond: 5, hours: day)]
        + (0..<BandwidthLimit.maximumCount).map {
          BandwidthLimit(bytesPerSecond: 2_000, hours: DailyHours(start: $0, end: $0 + 1))
        }
      let id = try await client.create([description])[0]
      await fixture.settle()
      let shown = try #require(try await limits(id, client))
      let lowest = TransferLimit(scope: .transfer, limit: .init(bytesPerSecond: BandwidthLimit.lowest, hours: day))
      #expect(shown.first == lowest && shown.filter { $0.scope == "transfer" }.count == BandwidthLimit.maximumCount)
      let ofSession = [
        TransferLimit(scope: .session, limit: .init(bytesPerSecond: 50_000)),
        TransferLimit(scope: .session, limit: .init(bytesPerSecond: nil, hours: night)),
      ]
      #expect(Array(shown.suffix(2)) == ofSession)

      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.hourlyLimits = []
      try await client.ask(.updateTask(update))
      #expect(try await limits(id, client) == ofSession)
      #expect(try fixture.store.transfer(id)?.description.hourlyLimits == nil)
    }
  }

  // MARK: Reasons of cancellations

  /// A file that stands for the user's tool.
  private func makeTool(in folder: TemporaryFolder) throws -> ExecutableIdentity {
    let path = folder.path + "/urlsession"
    try Data("tool".utf8).write(to: URL(fileURLWithPath: path))
    var status = stat()
    try #require(stat(path, &status) == 0)
    return ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
  }

  /// There was no room for it, and the app cancels the transfer later.
  @Test func aRefusedCancellationOfTheUserIsNoReason() async throws {
    let folder = try TemporaryFolder()
    let tool = try makeTool(in: folder)
    try await withEngine(
      runner: ScriptedRunner(),
      {
        $0.usersTool = UsersTool(path: tool.path)
        ($0.storagePatience, $0.waitingCancellationsPerApp) = (0.1, 1)
      }
    ) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create((1...2).map { .download("http://h/\($0)", task: $0, running: false) })
      let user = FakeClient(fixture.engine, executable: tool)
      try await user.greet()
      try fixture.breakQueue()
      user.tell(.cancelTransfer(TransferReference(transfer: ids[0])))
      #expect(try await user.refusal(.cancelTransfer(TransferReference(transfer: ids[1]))) == .storage)
      try fixture.mendQueue()
      #expect(try await app.nextEvent().completion?.failure?.cancelReason == 0)
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 2)))
      let event = try await app.nextEvent()
      #expect(event.taskIdentifier == 2 && event.completion?.failure?.cancelReason == nil)
    }
  }

  @Test func theReasonOfACancellationSaysWhoDidIt() async throws {
    let folder = try TemporaryFolder()
    let tool = try makeTool(in: folder)
    try await withEngine(runner: ScriptedRunner(), { $0.usersTool = UsersTool(path: tool.path) }) { fixture in
      let app = fixture.client()
      try await app.begin()
      let ids = try await app.create((1...3).map { .download("http://h/\($0)", task: $0, running: false) })
      let user = FakeClient(fixture.engine, executable: tool)
      try await user.greet()
      try await user.ask(.cancelTransfer(TransferReference(transfer: ids[0])))
      try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: 2)))
      // The app's own command names a transfer by its number.
      try await app.ask(.cancelTransfer(TransferReference(transfer: ids[2])))
      var reasons: [Int: Int?] = [:]
      for _ in ids {
        let event = try await app.nextEvent()
        let failure = try #require(event.completion?.failure)
        #expect(failure.code == URLError.Code.cancelled.rawValue)
        reasons[event.taskIdentifier] = failure.cancelReason
      }
      #expect(reasons == [1: 0, 2: nil, 3: nil])
    }
  }
}

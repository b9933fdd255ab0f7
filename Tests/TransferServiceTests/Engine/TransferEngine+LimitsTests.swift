import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Limits of bandwidth, from the request to the bytes.
@Suite struct TransferEngineLimitsTests {
  private static func limit(
    _ subject: LimitTransfers.Subject, _ rate: Int64?, _ hours: String? = nil
  ) -> ClientRequest {
    .limit(
      LimitTransfers(
        subject: subject, limit: BandwidthLimit(bytesPerSecond: rate, hours: hours.flatMap { DailyHours($0) })))
  }

  private func status(_ id: Int64, _ client: FakeClient) async throws -> TransferStatus {
    guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
      throw Refusal(.unknownTask, "no transfer")
    }
    return shown.status
  }

  @Test func limitsAreShownAndKept() async throws {
    try await withEngine(runner: ScriptedRunner()) {
      $0.mayLimitService = { _ in true }
    } _: { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/1", running: false)])[0]
      #expect(try await status(id, client).limits == nil)
      try await client.ask(Self.limit(.transfer(id), 2_000))
      try await client.ask(Self.limit(.session("s"), 4_000, "08:00-18:00"))
      try await client.ask(Self.limit(.app, 8_000))
      try await client.ask(Self.limit(.service, 16_000))
      let expected = [
        TransferLimit(scope: .transfer, limit: .init(bytesPerSecond: 2_000)),
        TransferLimit(scope: .session, limit: .init(bytesPerSecond: 4_000, hours: DailyHours("08:00-18:00"))),
        TransferLimit(scope: .app, limit: .init(bytesPerSecond: 8_000)),
        TransferLimit(scope: .service, limit: .init(bytesPerSecond: 16_000)),
      ]
      #expect(try await status(id, client).limits == expected)
      // A list tells those of all transfers, also where it has none.
      let after = ClientRequest.listTransfers(ListTransfers(after: .max))
      guard case .transfers(let page) = try await client.ask(after) else {
        Issue.record("no list")
        return
      }
      #expect(page == TransferPage(limits: [BandwidthLimit(bytesPerSecond: 16_000)]))

      let next = try await fixture.nextLife()
      let again = next.client()
      try await again.begin()
      #expect(try await status(id, again).limits == expected)
      try await again.ask(Self.limit(.transfer(id), nil))
      try await again.ask(Self.limit(.session("s"), nil))
      try await again.ask(Self.limit(.app, nil))
      try await again.ask(Self.limit(.service, nil))
      #expect(try await status(id, again).limits == nil)
      #expect(try next.store.limitsBesidesSessions().isEmpty)
    }
  }

  @Test func whatMayNotBeLimitedIsRefused() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download("http://h/1", running: false)])[0]
      #expect(try await client.refusal(Self.limit(.transfer(id), 1_023)) == .invalidRequest)
      #expect(try await client.refusal(Self.limit(.transfer(id + 1), 2_000)) == .unknownTask)
      #expect(try await client.refusal(Self.limit(.session("other"), 2_000)) == .unknownTask)
      #expect(try await client.refusal(Self.limit(.service, 2_000)) == .identity)
      let stranger = fixture.client("/other")
      try await stranger.greet()
      #expect(try await stranger.refusal(Self.limit(.transfer(id), 2_000)) == .unknownTask)
      #expect(try await stranger.refusal(Self.limit(.session("s"), 2_000)) == .unknownTask)
      for hour in 0..<LimitTable.maximum {
        let hours = DailyHours(start: hour * 60, end: hour * 60 + 1).map { "\($0)" }
        #expect(try await client.refusal(Self.limit(.app, 2_000, hours)) == nil)
      }
      #expect(try await client.refusal(Self.limit(.app, 2_000)) == .tooLarge)
    }
  }

  /// The clock of the service stands still: no more bytes come than may come at once, and one piece.
  @Test func aLimitHoldsTheBytesBackUntilItIsChanged() async throws {
    let size: Int64 = 8 << 20
    try await withEngine(serving: FileResource(size: size)) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString, running: false)])[0]
      try await client.ask(Self.limit(.transfer(id), 1 << 20))
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      _ = try await client.next { if case .progress(let progress) = $0 { progress.totalBytesWritten } else { nil } }

      // Another transfer comes whole meanwhile.
      let other = try await client.create([.download(server.url("/g").absoluteString, task: 2)])[0]
      let first = try await client.nextEvent()
      #expect(first.taskIdentifier == 2 && first.download?.byteCount == size)
      let held = try await status(id, client)
      #expect(held.state == .running && held.countOfBytesReceived < 2 << 20)

      try await client.ask(Self.limit(.transfer(id), nil))
      let download = try await client.next { push -> FinishedDownload? in
        if case .event(let event) = push, event.taskIdentifier == 1 { event.download } else { nil }
      }
      #expect(download.byteCount == size && other != id)
    }
  }

  private static let sentSize = 8 << 20

  private static func upload(_ fixture: EngineFixture, _ server: LoopbackServer, task: Int) throws
    -> TransferDescription
  {
    let path = fixture.appFolder.path + "/\(task)"
    try Data(count: sentSize).write(to: URL(fileURLWithPath: path))
    return .upload(path, to: server.url("/upload").absoluteString, task: task, running: task != 1, method: "PUT")
  }

  /// The same of the bytes that an upload sends.
  @Test func aLimitHoldsTheBytesOfAnUploadBackUntilItIsChanged() async throws {
    try await UploadDesk(["PUT": [UploadDesk.take(), UploadDesk.take()]]).run { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([Self.upload(fixture, server, task: 1)])[0]
      try await client.ask(Self.limit(.transfer(id), 1 << 20))
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      _ = try await client.next { if case .sent(let progress) = $0 { progress.totalBytesSent } else { nil } }

      // Another transfer is sent whole meanwhile.
      _ = try await client.create([Self.upload(fixture, server, task: 2)])
      let first = try await client.nextEvent()
      #expect(first.taskIdentifier == 2 && first.download?.response?.status == 200)
      let held = try await status(id, client)
      let sent = try #require(held.countOfBytesSent)
      #expect(held.state == .running && sent > 0 && sent < 1 << 20)

      try await client.ask(Self.limit(.transfer(id), nil))
      let completion = try await client.next { push -> Completion? in
        if case .event(let event) = push, event.taskIdentifier == 1 { event.completion } else { nil }
      }
      #expect(completion.failure == nil && completion.countOfBytesSent == Int64(Self.sentSize))
      #expect(server.requests.map { Int($0.body.count) } == [Self.sentSize, Self.sentSize])
    }
  }

  /// The wait for a limit is no wait of the network, and ends with the transfer.
  @Test func aTransferThatIsHeldBackIsCancelledAtOnce() async throws {
    try await withEngine(serving: FileResource(size: 8 << 20)) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString, running: false)])[0]
      try await client.ask(Self.limit(.session("s"), 1 << 20))
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      _ = try await client.next { if case .progress = $0 { true } else { nil } }
      try await client.ask(.cancelTransfer(TransferReference(transfer: id)))
      let completion = try #require(try await client.nextEvent().completion)
      #expect(completion.failure?.code == URLError.Code.cancelled.rawValue)
    }
  }
}

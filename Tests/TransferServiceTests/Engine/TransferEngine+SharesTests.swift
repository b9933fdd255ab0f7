import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Running transfers give way to those of other apps.
@Suite struct TransferEngineSharesTests {
  private func downloads(_ count: Int, method: String = "GET") -> [TransferDescription] {
    (1...count).map { .download("http://host\($0).example/", task: $0, method: method) }
  }

  /// No name is looked up for that: it is known from the connections.
  @Test func twoNamesOfOneServerShareItsPlaces() async throws {
    let gate = Gate()
    try await withEngine(
      serving: { _ in
        try await gate.wait(within: patience)
        return .ok("done")
      }, { $0.limits.perHost = 2 }
    ) { fixture, server in
      func address(_ id: TransferID) -> String? {
        fixture.engine.queue.sync { fixture.engine.scheduler.running[id]?.address }
      }
      let client = fixture.client()
      try await client.begin()
      let urls = [server.url("/1"), server.url("/2", host: "localhost"), server.url("/3", host: "localhost")]
      func create(_ index: Int) async throws -> TransferID {
        try await client.create([.download(urls[index].absoluteString, task: index + 1)])[0]
      }
      let running = [try await create(0), try await create(1)]
      try await eventually("both to be connected") { running.allSatisfy { address($0) == "127.0.0.1" } }
      let third = try await create(2)
      await fixture.settle()
      let shown = try await client.status(third)
      #expect(shown.state == .waiting && shown.waiting?.code == "hostBusy")
      gate.open()
      try await eventually("all to be over") { fixture.engine.queue.sync { fixture.engine.transfers.ids.isEmpty } }
    }
  }

  @Test func aTransferThatGivesWayGoesOnLater() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 2 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(2))
      try await eventually("both to run") { runner.running == ids }
      let other = fixture.client("/other")
      try await other.begin()
      let new = try await other.create(downloads(2))
      for step: Int64 in 1...6 {
        for id in ids {
          runner.report(.progressed(received: step << 20, expectedTotal: -1, kept: KeptBytes(step << 20)), by: id)
        }
        await fixture.advance(by: 10)
      }
      // The run that stops says so in a later turn.
      try await eventually("one to give way") { runner.running == [ids[1], new[0]] }
      #expect(runner.startedTwice == [])
      let shown = try await client.status(ids[0])
      #expect(shown.state == .waiting && shown.waiting?.code == "gaveWay" && shown.failedAttempts == 0)
      runner.end(new[0], .failed(.cancelled(nil), nil, received: 0))
      try await eventually("the next one of the other app") { runner.running.contains(new[1]) }
      runner.end(new[1], .failed(.cancelled(nil), nil, received: 0))
      try await eventually("it to run again") { runner.running == ids }
    }
  }

  @Test func aSlowServerKeepsNoOtherAppWaiting() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { ($0.limits.total, $0.limits.slow) = (3, 1) }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let slow = try await client.create(downloads(3))
      try await eventually("all to run") { runner.running == slow }
      for _ in 1...4 { await fixture.advance(by: 10) }
      let other = fixture.client("/other")
      try await other.begin()
      let new = try await other.create(downloads(3))
      try await eventually("the other app to have all but the reserve") { runner.running == [slow[2]] + new.prefix(2) }
      let shown = try await client.status(slow[0])
      #expect(shown.waiting?.code == "slow" && shown.waiting?.nextAttempt == fixture.clock.date + 60)
    }
  }

  /// 850 bytes a second are left for each by a limit, of which others know nothing.
  @Test func aLimitIsNoSlowServer() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { ($0.limits.total, $0.limits.slow) = (3, 1) }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(4))
      try await eventually("three to run") { runner.running == Array(ids.prefix(3)) }
      let limit = LimitTransfers(subject: .app, limit: BandwidthLimit(bytesPerSecond: 2_550))
      try await client.ask(.limit(limit))
      for step: Int64 in 1...12 {
        for id in ids.prefix(3) {
          let pace = try #require(runner.job(id)?.pace)
          _ = pace.count(8_500)
          #expect(pace.wait() > 0)
          let received = step * 8_500
          runner.report(.progressed(received: received, expectedTotal: -1, kept: KeptBytes(received)), by: id)
        }
        await fixture.advance(by: 10)
      }
      let shown = try await client.status(ids[3])
      #expect(runner.running == Array(ids.prefix(3)) && shown.waiting?.code == "serviceBusy")

      // Without the limit the same rate is the server's own.
      try await client.ask(.limit(LimitTransfers(subject: .app, limit: BandwidthLimit(bytesPerSecond: nil))))
      for _ in 1...12 {
        for id in runner.running { _ = runner.job(id)?.pace?.wait() }
        await fixture.advance(by: 10)
      }
      try await eventually("a slow one to make room") { runner.running.contains(ids[3]) }
    }
  }

  struct Sending: Sendable, CustomTestStringConvertible {
    enum Standing: Sendable { case givesWay, staysAlone, isAside }

    let testDescription: String
    var headers: [HeaderField] = []
    /// Bytes of the file that are not sent in the end.
    let unsent: Int64
    var kept: Int64 = 0
    var isAnswered = false
    var rate: Int64 = 2_000
    let standing: Standing
  }

  private static let fileSize: Int64 = 6_000_000

  /// One transfer has a place at the host.
  @Test(arguments: [
    Sending(testDescription: "much is not sent yet", unsent: 5_000_000, standing: .givesWay),
    Sending(testDescription: "the server may have the whole", unsent: 500_000, standing: .staysAlone),
    Sending(testDescription: "the server says what it has", unsent: 500_000, kept: 1_000, standing: .givesWay),
    Sending(
      testDescription: "it has a key", headers: [HeaderField("Idempotency-Key", "\"1\"")], unsent: 500_000,
      standing: .givesWay),
    Sending(
      testDescription: "the server answers before it has the whole", unsent: 5_000_000, isAnswered: true,
      standing: .staysAlone),
    Sending(
      testDescription: "the server has the whole and answers once", unsent: 0, kept: 1_000, rate: 0, standing: .isAside),
    Sending(
      testDescription: "the server may have the whole, and takes no more", unsent: 500_000, rate: 0, standing: .isAside),
  ]) func anUploadGivesWayWhileItsServerCanNotHaveTheWhole(_ sending: Sending) async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.perHost = 1 }) { fixture in
      let path = fixture.appFolder.path + "/file"
      try Data().write(to: URL(fileURLWithPath: path))
      #expect(truncate(path, Int(Self.fileSize)) == 0)
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create([.upload(path, to: "http://h/1", headers: sending.headers)])
      try await eventually("it to run") { runner.running == ids }
      let other = fixture.client("/other")
      try await other.begin()
      let new = try await other.create([.download("http://h/2")])
      if sending.isAnswered { runner.report(.responded(ResponseSummary(url: "http://h/1", status: 200)), by: ids[0]) }
      for step: Int64 in 0...9 {
        let sent = Self.fileSize - sending.unsent - (9 - step) * 10 * sending.rate
        let kept = KeptBytes(sending.kept, of: Self.fileSize)
        runner.report(.sent(SentBytes(sent, of: Self.fileSize), kept: kept), by: ids[0])
        for id in new where runner.running.contains(id) {
          runner.report(.progressed(received: step << 20, expectedTotal: -1, kept: KeptBytes(step << 20)), by: id)
        }
        await fixture.advance(by: 10)
      }
      let running =
        switch sending.standing {
        case .givesWay: new
        case .staysAlone: ids
        case .isAside: ids + new
        }
      // The run that stops says so in a later turn.
      try await eventually("what is to run") { runner.running == running }
      #expect(runner.startedTwice == [])
    }
  }

  /// It may have changed something on its server.
  @Test func aPostIsNotSentTwiceForOthers() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits.total = 1 }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create(downloads(1, method: "post"))
      try await eventually("it to run") { runner.running == ids }
      let other = fixture.client("/other")
      try await other.begin()
      let new = try await other.create(downloads(1))
      runner.report(.progressed(received: 1 << 30, expectedTotal: -1, kept: KeptBytes(0)), by: ids[0])
      for _ in 1...20 { await fixture.advance(by: 20) }
      #expect(runner.running == ids + new, "a slow one takes no place")
      #expect(runner.startedTwice == [])
    }
  }
}

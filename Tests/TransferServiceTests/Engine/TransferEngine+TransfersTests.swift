import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Runs, retries and ends of transfers.
@Suite struct TransferEngineTransfersTests {
  private static let mebi: Int64 = 1 << 20

  private func addressWithoutServer() throws -> String { "http://127.0.0.1:\(try UnservedPort.shared.get().number)/f" }

  @Test func retriesAConnectionThatWasCutAndSaysWhy() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      let waiting = try await client.nextRetry()
      #expect(waiting.code == "retry" && waiting.sentence.contains("lost"))
      let next = try #require(waiting.nextAttempt)
      #expect((0.0...1.0).contains(next.timeIntervalSince(fixture.clock.date)))
      // The wall clock has no say in it.
      fixture.clock.setWallClock(forward: 86_400)
      fixture.engine.poke()
      await fixture.settle()
      #expect(resource.served.count == 1)
      fixture.clock.advance(by: 1)
      fixture.engine.poke()
      let resumed = try await client.next { if case .resumedAtOffset(let report) = $0 { report } else { nil } }
      #expect(resumed.offset == Self.mebi && resumed.expectedTotal == 2 * Self.mebi)
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
      #expect(resource.bytesSent == 2 * Self.mebi)
    }
  }

  @Test func triesAgainAtOnceWhenTheNetworkChanges() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    try await withEngine(serving: resource, { $0.networkSettling = 0 }) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextRetry()
      // No time passes on the service's clock.
      fixture.engine.networkChanged()
      #expect(try await client.nextEvent().download != nil)
    }
  }

  /// A process that waits hears of a wrong certificate soon; without one there is time.
  @Test func aRunKnowsWhetherAProcessWaits() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner) { fixture in
      let client = fixture.client()
      try await client.begin()
      let id = try #require(try await client.create([.download("http://h/1")]).first)
      await fixture.settle()
      #expect(runner.job(id)?.isAttended == true)
      client.disconnect()
      let failure = TransferFailure(
        domain: NSURLErrorDomain, code: URLError.Code.serverCertificateUntrusted.rawValue, message: "no")
      runner.end(id, .retry(failure, kept: KeptBytes(0), received: 0))
      await fixture.settle()
      await fixture.advance(by: 2)
      let job = try #require(runner.job(id))
      #expect(!job.isAttended && job.doubtfulFailures == 1)
    }
  }

  @Test func pushesTheResponseAndTheProgress() async throws {
    let resource = FileResource(size: Self.mebi)
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      let response = try await client.next {
        if case .responseReceived(let report) = $0 { report.response } else { nil }
      }
      #expect(response.status == 200 && response.expectedContentLength == Self.mebi)
      let last = try await client.next {
        if case .progress(let report) = $0, report.totalBytesWritten == Self.mebi { report } else { nil }
      }
      #expect(last.totalBytesExpectedToWrite == Self.mebi)
    }
  }

  @Test func aSuspendedTransferKeepsItsBytes() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi, .stall)] }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
      _ = try await client.next { if case .progress = $0 { true } else { nil } }
      try await client.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [1, 77])))
      try await server.waitForOpenConnections(0)
      try await eventually("the bytes to be committed") {
        try fixture.store.transfer(id)?.head.committedOffset ?? 0 > 0
      }
      #expect(try fixture.store.transfer(id)?.head.state == .suspended)
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [1])))
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
      #expect(resource.served.map(\.status) == [200, 206])
    }
  }

  @Test func suspendingAndResumingAtOnceLosesNothing() async throws {
    let resource = FileResource(size: 3 * Self.mebi)
    resource.update { $0.bytesPerSecond = Int(20 * Self.mebi) }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      let selection = TaskSelection(session: "s", taskIdentifiers: [1])
      for _ in 1...10 {
        try await client.ask(.suspendTasks(selection))
        try await client.ask(.resumeTasks(selection))
      }
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 3 * Self.mebi) == nil)
    }
  }

  /// A new date or description is no reason to ask a failing server at once; suspending and resuming is one.
  @Test func onlyResumingEndsTheWaitForTheNextTry() async throws {
    let url = try addressWithoutServer()
    try await withEngine { fixture in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      let id = try await client.create([.download(url)])[0]
      for failures in 1...3 {
        _ = try await client.nextRetry()
        try await eventually("a failure to be noted") { try fixture.store.transfer(id)?.head.failures == failures }
        guard failures < 3 else { break }
        fixture.clock.advance(by: 600)
        fixture.engine.poke()
      }
      func waiting() async throws -> WaitingStatus? {
        guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
          return nil
        }
        return shown.status.waiting
      }
      let before = try #require(try await waiting())
      #expect(before.code == "retry")
      var update = UpdateTask(session: "s", taskIdentifier: 1)
      update.earliestBeginDate = fixture.clock.date - 10
      try await client.ask(.updateTask(update))
      let after = try #require(try await waiting())
      #expect(after.code == "retry")
      let moved = try #require(after.nextAttempt).timeIntervalSince(try #require(before.nextAttempt))
      #expect(abs(moved) < 0.01)
      // A date behind the next try is what it waits for.
      update.earliestBeginDate = fixture.clock.date + 86_400
      try await client.ask(.updateTask(update))
      #expect(try await waiting()?.code == "earliestBegin")
      update.earliestBeginDate = fixture.clock.date - 10
      try await client.ask(.updateTask(update))
      #expect(try await waiting()?.code == "retry")

      let selection = TaskSelection(session: "s", taskIdentifiers: [1])
      try await client.ask(.suspendTasks(selection))
      #expect(try fixture.store.transfer(id)?.head.nextAttempt == nil)
      try await client.ask(.resumeTasks(selection))
      // No time has passed.
      try await eventually("the next try") { try fixture.store.transfer(id)?.head.failures == 4 }
    }
  }

  @Test func aBusyServerIsAskedForTheRestWhenItSays() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(Self.mebi)] }
    let requests = Recorder<Void>()
    let handler: LoopbackServer.Handler = { request in
      requests.record(())
      guard requests.count == 2 else { return resource.reply(to: request) }
      return .status(503, fields: [("Retry-After", "120")], body: "later")
    }
    try await withEngine(serving: handler) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      try await client.watch()
      _ = try await client.create([.download(server.url("/f").absoluteString)])
      _ = try await client.nextRetry()
      await fixture.advance(by: 1)
      let waiting = try await client.next {
        if case .transferChanged(let status) = $0, status.waiting?.code == "serverBusy" { status.waiting } else { nil }
      }
      let next = try #require(waiting.nextAttempt)
      #expect((119.0...121).contains(next.timeIntervalSince(fixture.clock.date)))
      await fixture.advance(by: 118)
      #expect(requests.count == 2)
      await fixture.advance(by: 2)
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
      #expect(resource.bytesSent == 2 * Self.mebi)
    }
  }

  /// The same bytes travel again each time, so each try is made later than the one before.
  @Test func bytesThatComeAgainAreNoProgress() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update {
      $0.supportsRanges = false
      $0.cuts = [.after(Self.mebi), .after(Self.mebi), .after(Self.mebi)]
    }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
      for failures in 1...3 {
        try await eventually("a failure to be noted") { try fixture.store.transfer(id)?.head.failures == failures }
        fixture.clock.advance(by: 600)
        fixture.engine.poke()
      }
      let download = try #require(try await client.nextEvent().download)
      #expect(resource.version.pattern.difference(toFile: download.path, count: 2 * Self.mebi) == nil)
    }
  }

  @Test func bytesThatAreKeptResetTheCountOfFailures() async throws {
    let resource = FileResource(size: 2 * Self.mebi)
    resource.update { $0.cuts = [.after(0), .after(0), .after(Self.mebi, .stall)] }
    try await withEngine(serving: resource) { fixture, server in
      let client = fixture.client()
      try await client.begin()
      let id = try await client.create([.download(server.url("/f").absoluteString)])[0]
      for failures in 1...2 {
        try await eventually("a failure to be noted") { try fixture.store.transfer(id)?.head.failures == failures }
        fixture.clock.advance(by: 600)
        fixture.engine.poke()
      }
      _ = try await client.next {
        if case .progress(let report) = $0, report.totalBytesWritten >= KeptBytes.enough { true } else { nil }
      }
      guard case .transfer(let shown) = try await client.ask(.showTransfer(TransferReference(transfer: id))) else {
        Issue.record("refused")
        return
      }
      #expect(shown.status.failedAttempts == 0)
      try await eventually("the queue to have it") { try fixture.store.transfer(id)?.head.failures == 0 }
    }
  }
}

import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// What watchers are told.
@Suite struct TransferEngineReportsTests {
  private static func over(_ push: ServicePush) -> TransferID? {
    if case .transferChanged(let status) = push, status.state == .completed { status.transfer } else { nil }
  }

  /// The last statuses that were sent to a watcher.
  private func told(_ watcher: FakeClient) -> [TransferID] {
    watcher.messages.all.compactMap { if case .push(let push) = $0 { Self.over(push) } else { nil } }
  }

  /// An app with suspended tasks, and a watcher that does not read.
  private func watchers(_ fixture: EngineFixture, count: Int) async throws -> (app: FakeClient, watcher: FakeClient) {
    let app = fixture.client()
    try await app.begin()
    _ = try await app.create((1...count).map { .download("http://h/", task: $0, running: false) })
    let watcher = fixture.client()
    try await watcher.greet()
    try await watcher.watch()
    watcher.stopReading()
    return (app, watcher)
  }

  private func cancel(_ tasks: ClosedRange<Int>, _ app: FakeClient) async throws {
    for task in tasks { try await app.ask(.cancelTask(CancelTask(session: "s", taskIdentifier: task))) }
  }

  @Test func aWatcherThatDoesNotReadIsToldTheLastStatusOnceItDoes() async throws {
    try await withEngine { fixture in
      let (app, watcher) = try await watchers(fixture, count: 3)
      try await cancel(1...3, app)
      await fixture.settle()
      #expect(told(watcher) == [])
      watcher.startReading()
      await fixture.settle()
      #expect(told(watcher) == [1, 2, 3])
      watcher.startReading()
      await fixture.settle()
      #expect(told(watcher) == [1, 2, 3], "each is told once")
      #expect(!watcher.isClosed.isOpen)
    }
  }

  /// Numbers that mean nothing to the app take no memory, and no transfer that gets one of them later is told.
  @Test func onlyTransfersOfTheAppAreWatched() async throws {
    try await withEngine { fixture in
      let (app, watcher) = try await watchers(fixture, count: 2)
      watcher.startReading()
      guard case .transfers(let page) = try await watcher.ask(.watch(Watch(transfers: [3, 2, 2, 99]))) else {
        Issue.record("refused")
        return
      }
      #expect(page.transfers.map(\.transfer) == [2])
      _ = try await app.create([.download("http://h/", task: 3, running: false)])
      try await cancel(1...3, app)
      await fixture.settle()
      #expect(told(watcher) == [2])
    }
  }

  @Test func aWatcherThatIsOwedTooMuchIsClosed() async throws {
    try await withEngine({ $0.owedStatuses = 2 }) { fixture in
      let (app, watcher) = try await watchers(fixture, count: 3)
      let stranger = fixture.client("/stranger")
      try await stranger.greet()
      try await stranger.watch()
      stranger.stopReading()
      try await cancel(1...2, app)
      await fixture.settle()
      #expect(!watcher.isClosed.isOpen)
      try await cancel(3...3, app)
      await fixture.settle()
      #expect(watcher.isClosed.isOpen)
      #expect(!stranger.isClosed.isOpen, "transfers of other apps count for nothing")
    }
  }

  /// The clock of the test stands still, so that the bytes count as if they had taken a second.
  @Test func aDownloadThatRunsTellsHowFastItsBytesCome() async throws {
    let gate = Gate()
    let handler: LoopbackServer.Handler = { _ in
      Reply([
        .head(200, fields: [("Content-Length", "3000")]), .bytes(.init(repeating: 1, count: 2_000)), .waitFor(gate),
        .bytes(.init(repeating: 1, count: 1_000)),
      ])
    }
    try await withEngine(serving: handler) { fixture, server in
      let app = fixture.client()
      try await app.begin()
      let id = try #require(try await app.create([.download(server.url("/f").absoluteString)]).first)
      try await eventually("the rate") { try await app.status(id).bytesPerSecond == 2_000 }
      gate.open()
      _ = try await app.nextEvent()
      #expect(try await app.status(id).bytesPerSecond == nil)
    }
  }
}

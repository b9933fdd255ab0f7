import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Requests that name many things.
@Suite struct TransferEnginePiecesTests {
  private static let count = 1_200

  /// A connection whose replies go into a record that it shares with others.
  private final class OrderedClient: ServiceClient {
    let id: UInt64
    let peer: PeerIdentity
    private let replies: Recorder<UInt64>

    init(_ id: UInt64, program: String, _ replies: Recorder<UInt64>) {
      self.id = id
      self.replies = replies
      peer = PeerIdentity(
        process: EngineFixture.dead,
        executable: ExecutableIdentity(path: program, device: 1, inode: 2, owner: geteuid()))
    }

    var canTakeMore: Bool { true }
    func send(_ message: ServiceMessage) { if case .reply(let request, _) = message { replies.record(request) } }
    func postpone(_ request: UInt64) {}
    func close() {}
  }

  /// An app with a session of that many tasks, which are suspended.
  private func withTasks(_ body: (EngineFixture, OrderedClient, Recorder<UInt64>) async throws -> Void) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let replies = Recorder<UInt64>()
      let app = OrderedClient(1_000_001, program: "/app", replies)
      fixture.engine.connected(app)
      let tasks = (1...Self.count).map { TransferDescription.download("http://h/\($0)", task: $0, running: false) }
      let requests: [ClientRequest] = [
        .hello(Hello(client: "tests")), .attach(Attach(session: "s")),
        .createTasks(CreateTasks(session: "s", tasks: tasks)),
      ]
      for (number, request) in requests.enumerated() {
        fixture.engine.received(ClientMessage(id: UInt64(number + 1), request: request), from: app)
      }
      await fixture.settle()
      #expect(replies.all == [1, 2, 3])
      try await body(fixture, app, replies)
    }
  }

  private func suspendedCount(_ fixture: EngineFixture) throws -> Int {
    try fixture.store.unfinishedHeads().count { $0.state == .suspended }
  }

  /// The last of a connection's requests is answered by its number.
  private func wait(for last: UInt64, in replies: Recorder<UInt64>) async throws {
    try await within(patience, "the last answer") {
      while try await replies.next() != last {}
    }
  }

  @Test func othersAreServedInBetweenAndLaterRequestsInOrder() async throws {
    try await withTasks { fixture, app, replies in
      let other = OrderedClient(1_000_002, program: "/other", replies)
      fixture.engine.connected(other)
      let all = TaskSelection(session: "s", taskIdentifiers: Array(1...Self.count))
      fixture.engine.queue.suspend()
      fixture.engine.received(ClientMessage(id: 10, request: .resumeTasks(all)), from: app)
      fixture.engine.received(ClientMessage(id: 11, request: .suspendTasks(all)), from: app)
      fixture.engine.received(ClientMessage(id: 12, request: .listTransfers(ListTransfers())), from: app)
      fixture.engine.received(ClientMessage(id: 20, request: .version), from: other)
      fixture.engine.queue.resume()
      try await wait(for: 12, in: replies)
      #expect(replies.all == [1, 2, 3, 20, 10, 11, 12])
      #expect(try suspendedCount(fixture) == Self.count)
    }
  }

  /// An app may end as soon as it has sent its requests.
  @Test func aConnectionThatEndsMeanwhileIsServedToItsLastRequest() async throws {
    try await withTasks { fixture, app, replies in
      let all = TaskSelection(session: "s", taskIdentifiers: Array(1...Self.count))
      let half = TaskSelection(session: "s", taskIdentifiers: Array(1...600))
      fixture.engine.queue.suspend()
      fixture.engine.received(ClientMessage(id: 10, request: .resumeTasks(all)), from: app)
      fixture.engine.received(ClientMessage(id: 11, request: .suspendTasks(half)), from: app)
      fixture.engine.disconnected(app)
      fixture.engine.queue.resume()
      try await wait(for: 11, in: replies)
      await fixture.settle()
      #expect(try suspendedCount(fixture) == 600)
      // The session is free again.
      let next = fixture.client()
      #expect(try await next.begin() != nil)
    }
  }

  @Test func manyEventsAreAcknowledgedInPieces() async throws {
    try await withTasks { fixture, app, replies in
      let heads = try fixture.store.unfinishedHeads()
      let session = try #require(heads.first).session
      let ends = heads.map {
        TransferStore.End(transfer: $0.id, hasFile: false, completion: StoreFixture.completion())
      }
      _ = try fixture.store.finish(ends, date: Date())
      let sequences = (1...Int64(Self.count)).map { $0 }
      let acknowledgement = Acknowledge(session: "s", sequences: sequences)
      fixture.engine.received(ClientMessage(id: 10, request: .acknowledge(acknowledgement)), from: app)
      try await wait(for: 10, in: replies)
      #expect(try fixture.store.eventCount(of: session) == 0)
    }
  }
}

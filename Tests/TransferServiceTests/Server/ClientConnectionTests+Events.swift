import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import TransferService

/// Events that go over a connection.
extension ClientConnectionTests {
  /// An older service wrote it into the queue. Sent whole it would end the connection each time that the app attaches.
  @Test func anEventThatIsTooLongForAMessageArrivesShortened() async throws {
    let runner = ScriptedRunner()
    try await withAttached(runner: runner) { client, fixture, _ in
      _ = try await client.ask(.startDelivery(SessionReference(session: "s")))
      _ = try await client.ask(.createTasks(CreateTasks(session: "s", tasks: [.download("http://h/")])))
      try await eventually("the download runs") { !runner.running.isEmpty }
      let id = try #require(runner.running.first)
      let url = "http://h/" + String(repeating: "a", count: 300_000)
      let transaction = TransactionDescription(url: url, method: "GET", headers: [], source: .networkLoad)
      runner.report(.measured(Array(repeating: transaction, count: TransactionDescription.maximumCount)), by: id)
      try runner.finish(id, in: fixture)
      let events = try await within(patience, "both events") {
        var events: [SequencedEvent] = []
        while events.count < 2 {
          if case .push(.event(let event)) = try await client.messages.next() { events.append(event) }
        }
        return events
      }
      #expect(events.map(\.sequence) == [1, 2])
      let completion = try #require(events.last?.completion)
      #expect(completion.failure == nil && completion.transactions == nil && completion.response?.status == 200)
    }
  }
}

import Foundation
import HTTPSemantics
import LoopbackServer
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

/// Why tasks wait, as the holder of their session is told.
@Suite struct TransferEngineWaitingReasonsTests {
  private func next(_ client: FakeClient) async throws -> [Int: String?] {
    let report = try await client.next { if case .waiting(let report) = $0 { report } else { nil } }
    return Dictionary(report.tasks.map { ($0.taskIdentifier, $0.waiting?.code) }) { $1 }
  }

  @Test func aChangeIsToldOnce() async throws {
    let runner = ScriptedRunner()
    try await withEngine(runner: runner, { $0.limits = Scheduler.Limits(total: 24, perHost: 1) }) { fixture in
      let client = fixture.client()
      try await client.begin()
      let ids = try await client.create([
        .download("http://h/1", task: 1), .download("http://h/2", task: 2),
        .download("http://other/3", task: 3, running: false),
      ])
      #expect(try await next(client) == [1: nil, 2: "hostBusy", 3: "suspended"])
      try runner.finish(ids[0], in: fixture)
      #expect(try await next(client) == [2: nil])
      try await client.ask(.resumeTasks(TaskSelection(session: "s", taskIdentifiers: [3])))
      #expect(try await next(client) == [3: nil])
      let failure = TransferFailure(domain: NSURLErrorDomain, code: -1_005, message: "broken")
      runner.end(ids[1], .retry(failure, kept: KeptBytes(0), received: 0))
      let report = try await client.next { if case .waiting(let report) = $0 { report } else { nil } }
      #expect(report.session == "s" && report.tasks.map(\.taskIdentifier) == [2])
      let waiting = try #require(report.tasks.first?.waiting)
      #expect(waiting.code == "retry" && waiting.sentence.contains("broken") && waiting.nextAttempt != nil)
      try await client.ask(.suspendTasks(TaskSelection(session: "s", taskIdentifiers: [2])))
      #expect(try await next(client) == [2: "suspended"])
    }
  }

  @Test func aProcessThatComesBackIsToldEverything() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let first = fixture.client()
      try await first.begin()
      _ = try await first.create([.download("http://h/1", task: 1), .download("http://h/2", task: 2, running: false)])
      #expect(try await next(first) == [1: nil, 2: "suspended"])
      first.disconnect()
      let second = fixture.client()
      try await second.begin()
      #expect(try await next(second) == [1: nil, 2: "suspended"])
    }
  }

  @Test func aReaderThatIsSlowIsToldLater() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let client = fixture.client()
      try await client.begin()
      client.stopReading()
      _ = try await client.create([.download("http://h/1", task: 1, running: false)])
      await fixture.settle()
      #expect(!client.messages.all.contains { if case .push(.waiting) = $0 { true } else { false } })
      client.startReading()
      #expect(try await next(client) == [1: "suspended"])
    }
  }

  @Test func anAppOfAnEarlierVersionIsNotTold() async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      let client = fixture.client()
      try await client.ask(.hello(Hello(versions: .init(minimum: 2, maximum: 3), client: "old")))
      _ = try await client.attach()
      try await client.ask(.startDelivery(SessionReference(session: "s")))
      _ = try await client.create([.download("http://h/1")])
      await fixture.settle()
      #expect(!client.messages.all.contains { if case .push(.waiting) = $0 { true } else { false } })
    }
  }

  static let told: [(told: ToldReason, now: WaitingStatus?, says: Bool)] = [
    (.nothing, nil, false), (.told(nil), nil, true), (.told(nil), status("a"), false),
    (.told(status("a")), nil, false), (.told(status("a")), status("a"), true),
    (.told(status("a")), status("b"), false), (.told(status("a", 10)), status("a", 10.5), true),
    (.told(status("a", 10)), status("a", 12), false), (.told(status("a", 10)), status("a"), false),
  ]

  private static func status(_ code: String, _ next: TimeInterval? = nil) -> WaitingStatus {
    WaitingStatus(code: code, sentence: code, nextAttempt: next.map { Date(timeIntervalSince1970: $0) })
  }

  @Test(arguments: told.indices) func theSameReasonIsNoNews(index: Int) {
    let row = Self.told[index]
    #expect(row.told.says(row.now) == row.says, "\(row)")
  }

  @Test func requestsAreKeptOfTheLatestTransfersAlone() {
    var transactions = TransferTransactions()
    func transaction(_ number: Int) -> TransactionDescription {
      TransactionDescription(url: "\(number)", method: "GET", headers: [], source: .networkLoad)
    }
    for number in 0..<100 { transactions.add([transaction(number)], of: 1) }
    #expect(transactions.latest(1)?.map(\.url) == (36..<100).map { "\($0)" })
    transactions.forget(1)
    #expect(transactions.latest(1) == nil)
    for id in 1...Int64(TransferTransactions.transfers + 1) { transactions.add([transaction(0)], of: id) }
    #expect(transactions.latest(1) == nil && transactions.latest(2)?.count == 1)
  }
}

import Dispatch
import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct NameLookupsTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let oneThread = BlockingLanes(limit: 1)
  private static let address = NetworkAddress([127, 0, 0, 1])

  private let asked = Recorder<NameQuestion>()
  private let answers = Recorder<NameAnswer>()
  private let release = DispatchSemaphore(value: 0)
  private let start = NIODeadline.now()

  /// Every question waits until the test releases it.
  private func lookups(on threads: BlockingLanes = threads) -> NameLookups {
    NameLookups(on: threads) { [asked, release] question in
      asked.record(question)
      release.wait()
      return .success([NameLookupsTests.address])
    }
  }

  private func question(_ host: String, _ family: AddressFamily = .v4) -> NameQuestion {
    NameQuestion(host: host, family: family, onlyUsableFamilies: true)
  }

  @discardableResult
  private func ask(_ lookups: NameLookups, _ host: String, after time: TimeAmount = .zero) -> NameLookups.Subscription {
    lookups.ask(question(host), at: start + time) { [answers] in answers.record($0) }
  }

  @Test func whoAsksTheSameGetsTheSameAnswer() async throws {
    let lookups = lookups()
    for _ in 0..<3 { ask(lookups, "a") }
    release.signal()
    let all = try await answers.first(3)
    #expect(all == Array(repeating: .success([Self.address]), count: 3))
    #expect(asked.count == 1)
    // What was answered is not remembered: that is the name servers' to say.
    ask(lookups, "a")
    release.signal()
    _ = try await answers.first(4)
    #expect(asked.count == 2)
  }

  /// The network may be another one by then. Still a name that nobody answers for keeps few threads.
  @Test func aQuestionThatTakesLongIsAskedOnceMore() async throws {
    let lookups = lookups()
    for seconds: Int64 in [0, 1, 3, 4, 60, 120] { ask(lookups, "a", after: .seconds(seconds)) }
    _ = try await asked.first(2)
    for _ in 0..<2 { release.signal() }
    _ = try await answers.first(6)
    #expect(asked.count == 2)
  }

  @Test func questionsThatHangHoldUpNoOthers() async throws {
    let lookups = lookups()
    for number in 0..<10 { ask(lookups, "hangs-\(number)") }
    _ = try await asked.first(10)
    let other = NameLookups(on: Self.threads) { _ in .success([]) }
    ask(other, "a")
    #expect(try await answers.next() == .success([]))
    for _ in 0..<10 { release.signal() }
    _ = try await answers.first(11)
  }

  @Test func whatNobodyWantsToKnowIsNotAsked() async throws {
    let lookups = lookups(on: Self.oneThread)
    ask(lookups, "first")
    _ = try await asked.next()
    let subscription = ask(lookups, "second")
    ask(lookups, "third")
    lookups.cancel(subscription)
    for _ in 0..<2 { release.signal() }
    _ = try await answers.first(2)
    #expect(asked.all.map(\.host) == ["first", "third"])
  }
}

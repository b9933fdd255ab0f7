import Dispatch
import LoopbackServer
import NIOCore
import SystemServices
import Testing

@testable import HTTPTransport

@Suite struct NameLookupsTests {
  private static let threads = BlockingLanes(limit: 16)
  private static let oneThread = BlockingLanes(limit: 1, patience: .hours(1))
  private static let address = NetworkAddress([127, 0, 0, 1])

  private let asked = Recorder<NameQuestion>()
  private let answers = Recorder<NameAnswer>()
  private let release = DispatchSemaphore(value: 0)
  private let start = BootInstant.now()

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
  private func ask(
    _ lookups: NameLookups, _ host: String, _ freshness: NameFreshness = .current, after time: TimeAmount = .zero
  ) -> NameLookups.Subscription? {
    lookups.ask(question(host), freshness, at: start + time) { [answers] in answers.record($0) }
  }

  @Test func whoAsksTheSameGetsTheSameAnswer() async throws {
    let lookups = lookups()
    for _ in 0..<3 { ask(lookups, "a") }
    release.signal()
    let all = try await answers.first(3)
    #expect(all == Array(repeating: .success([Self.address]), count: 3))
    #expect(asked.count == 1)
  }

  @Test func anAnswerIsKept() async throws {
    let lookups = lookups()
    #expect(ask(lookups, "a") != nil)
    release.signal()
    _ = try await answers.first(1)
    for freshness in [NameFreshness.current, .stale] { #expect(ask(lookups, "a", freshness) == nil) }
    #expect(answers.all == Array(repeating: .success([Self.address]), count: 3))
    #expect(asked.count == 1)
    // A caller for whom it was of no use has the name servers asked.
    #expect(ask(lookups, "a", .asked) != nil)
    release.signal()
    _ = try await answers.first(4)
    #expect(asked.count == 2)
  }

  /// Past its time it is still given where that is allowed, and asked for anew for those that come later.
  @Test func anOldAnswerIsGivenWhereThatIsAllowed() async throws {
    let lookups = lookups()
    ask(lookups, "a")
    release.signal()
    _ = try await answers.first(1)
    #expect(ask(lookups, "a", .stale, after: .minutes(1)) == nil)
    #expect(answers.count == 2)
    _ = try await asked.first(2)
    #expect(ask(lookups, "a", .current, after: .minutes(1)) != nil)
    #expect(answers.count == 2)
    release.signal()
    _ = try await answers.first(3)
    // Callers that ask for the same at the same time wait for the same answer.
    #expect(asked.count == 2)
  }

  @Test func failuresAreNotKept() async throws {
    let failure = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))
    let lookups = NameLookups(on: Self.threads) { [asked] question in
      asked.record(question)
      return failure
    }
    for count in 1...2 {
      #expect(ask(lookups, "a") != nil)
      #expect(try await answers.first(count).last == failure)
      #expect(asked.count == count)
    }
  }

  /// The absence of one family is not asked about while the addresses of the other are kept.
  @Test func anAbsenceIsKeptBesideAnAnswer() async throws {
    let absence = NameAnswer.failure(NameFailure(reason: "no such name", isAbsence: true))
    let lookups = NameLookups(on: Self.threads) { [asked] question in
      asked.record(question)
      return question.family == .v6 ? absence : .success([Self.address])
    }
    for count in 1...2 {
      for family in AddressFamily.allCases {
        _ = lookups.ask(question("a", family), at: start) { [answers] in answers.record($0) }
      }
      let all = try await answers.first(2 * count)
      #expect(all.suffix(2).contains(absence) && all.suffix(2).contains(.success([Self.address])))
    }
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

  /// A name takes two threads, one for each family, and there are no more for questions that were asked just now.
  @Test(arguments: [TimeAmount.zero, .milliseconds(50)])
  func namesThatNeverAnswerHoldUpNoOtherBeyondTheLimit(_ patience: TimeAmount) async throws {
    let asked = Recorder<NameQuestion>()
    let lookups = NameLookups(on: BlockingLanes(limit: 64, patience: patience, most: 80)) { [release] question in
      asked.record(question)
      if question.host != "answers" { release.wait() }
      return .success([NameLookupsTests.address])
    }
    for number in 0..<32 {
      for family in AddressFamily.allCases { _ = lookups.ask(question("hangs-\(number)", family)) { _ in } }
    }
    ask(lookups, "answers")
    #expect(try await answers.next() == .success([Self.address]))
    _ = try await asked.first(65)
    for _ in 0..<64 { release.signal() }
    try await eventually("all lookups to end") { lookups.waiterCount == 0 }
  }

  @Test func whatNobodyWantsToKnowIsNotAsked() async throws {
    let lookups = lookups(on: Self.oneThread)
    ask(lookups, "first")
    _ = try await asked.next()
    let subscription = try #require(ask(lookups, "second"))
    ask(lookups, "third")
    lookups.cancel(subscription)
    for _ in 0..<2 { release.signal() }
    _ = try await answers.first(2)
    #expect(asked.all.map(\.host) == ["first", "third"])
  }
}

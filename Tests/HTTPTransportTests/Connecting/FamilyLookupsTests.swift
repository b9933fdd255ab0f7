import Glibc
import Testing

@testable import HTTPTransport

@Suite struct FamilyLookupsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let asked: [AddressFamily]
    let answers: [(AddressFamily, FamilyLookups.Outcome)]
    let actions: [[FamilyLookups.Action]]

    init(
      _ description: String, asked: [AddressFamily] = [.v6, .v4], _ answers: [(AddressFamily, FamilyLookups.Outcome)],
      _ actions: [[FamilyLookups.Action]]
    ) {
      testDescription = description
      self.asked = asked
      self.answers = answers
      self.actions = actions
    }
  }

  static let cases: [Case] = [
    Case("neither waits for the other", [(.v4, .found), (.v6, .found)], [[.settle(.v4)], [.settle(.v6)]]),
    Case(
      "an absent family waits for what the other says", [(.v6, .absent), (.v4, .found)],
      [[], [.settle(.v6), .settle(.v4)]]),
    Case(
      "an absent family after the other was found", [(.v4, .found), (.v6, .absent)], [[.settle(.v4)], [.settle(.v6)]]),
    Case("no answer for one family", [(.v6, .absent), (.v4, .failed)], [[], [.settle(.v6), .settle(.v4)]]),
    Case("no answer for either", [(.v6, .failed), (.v4, .failed)], [[.settle(.v6)], [.settle(.v4)]]),
    Case(
      "both absent are asked about once more", [(.v6, .absent), (.v4, .absent), (.v4, .absent), (.v6, .found)],
      [[], [.askAgain(.v6), .askAgain(.v4)], [.settle(.v4)], [.settle(.v6)]]),
    Case(
      "both absent, twice", [(.v4, .absent), (.v6, .absent), (.v4, .absent), (.v6, .absent)],
      [[], [.askAgain(.v4), .askAgain(.v6)], [.settle(.v4)], [.settle(.v6)]]),
    Case(
      "one family alone", asked: [.v4], [(.v4, .absent), (.v4, .absent)], [[.askAgain(.v4)], [.settle(.v4)]]),
  ]

  @Test(arguments: cases) func answersBecomeActions(_ test: Case) {
    var lookups = FamilyLookups()
    for family in test.asked { lookups.asked(family) }
    #expect(test.answers.map { lookups.answered($0.0, $0.1) } == test.actions)
  }

  /// That a name server has no answer now says nothing about addresses: it is not asked again for that.
  @Test(
    arguments: [
      (EAI_NONAME, true), (-5, true), (-9, true), (EAI_AGAIN, false), (EAI_FAIL, false), (EAI_MEMORY, false),
    ] as [(Int32, Bool)])
  func someFailuresAreAnswers(_ status: Int32, _ isAbsence: Bool) {
    let failure = SystemNames.failure(status)
    #expect(failure.isAbsence == isAbsence && !failure.reason.isEmpty)
  }

  /// In both families, whatever the hosts file says.
  @Test(arguments: ["localhost", "LocalHost.", "some.localhost"], AddressFamily.allCases)
  func localNamesAreFound(_ host: String, _ family: AddressFamily) throws {
    let loopback: [UInt8] = family == .v4 ? [127, 0, 0, 1] : Array(repeating: 0, count: 15) + [1]
    for onlyUsableFamilies in [false, true] {
      let answer = SystemNames.ask(NameQuestion(host: host, family: family, onlyUsableFamilies: onlyUsableFamilies))
      #expect(try answer.get().first?.bytes == loopback)
    }
  }

  @Test(arguments: [
    ("localhost", true), ("localhost.", true), ("a.LOCALHOST", true), ("localhost.example", false),
    ("localhost..", false), ("mylocalhost", false), ("", false), (".", false),
  ])
  func localNames(_ host: String, isLocal: Bool) {
    #expect(SystemNames.isLocalhost(host) == isLocal)
  }
}

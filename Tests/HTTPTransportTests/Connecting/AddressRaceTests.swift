import SystemServices
import Testing

@testable import HTTPTransport

/// RFC 8305, step by step.
@Suite struct AddressRaceTests {
  enum Input: Sendable {
    case answered(AddressFamily, [DestinationOrder.Candidate])
    case elapsed(AddressRace.Timer)
    case connected(Int)
    case failed(Int)
    case askedAgain
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let lastWinner: NetworkAddress?
    let steps: [(Input, [AddressRace.Action])]

    init(_ description: String, lastWinner: NetworkAddress? = nil, _ steps: [(Input, [AddressRace.Action])]) {
      testDescription = description
      self.lastWinner = lastWinner
      self.steps = steps
    }
  }

  // 2001:db8::n from 2001:db8::ff, and 198.51.100.n from 192.0.2.1.
  private static func v6(_ number: UInt8) -> NetworkAddress {
    NetworkAddress([0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [number])
  }
  private static func v4(_ number: UInt8) -> NetworkAddress { NetworkAddress([198, 51, 100, number]) }
  private static func six(_ numbers: UInt8...) -> Input {
    .answered(.v6, numbers.map { .init(v6($0), from: v6(0xff)) })
  }
  private static func four(_ numbers: UInt8...) -> Input {
    .answered(.v4, numbers.map { .init(v4($0), from: NetworkAddress([192, 0, 2, 1])) })
  }
  /// Addresses to which no network leads.
  private static func unreachableSix(_ numbers: UInt8...) -> Input {
    .answered(.v6, numbers.map { .init(v6($0), from: nil) })
  }
  private static func unreachableFour(_ numbers: UInt8...) -> Input {
    .answered(.v4, numbers.map { .init(v4($0), from: nil) })
  }

  static let cases: [Case] = [
    Case(
      "IPv6 is tried at once; IPv4 after the attempt delay",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (four(1), []),
        (.elapsed(.attemptDelay), [.connect(2, v4(1))]),
        (.connected(2), [.finish(2)]),
      ]),
    Case(
      "IPv4 waits a moment for IPv6, which comes",
      [
        (four(1), [.start(.resolutionDelay)]),
        (six(1), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v6(1))]),
        (.connected(1), [.stop(.attemptDelay), .finish(1)]),
      ]),
    Case(
      "IPv4 waits a moment for IPv6, which does not come",
      [
        (four(1), [.start(.resolutionDelay)]),
        (.elapsed(.resolutionDelay), [.start(.attemptDelay), .connect(1, v4(1))]),
        (.connected(1), [.stop(.attemptDelay), .finish(1)]),
        (six(1), []),
      ]),
    Case(
      "IPv4 waits a moment for IPv6, of which there is none",
      [
        (four(1), [.start(.resolutionDelay)]),
        (six(), [.stop(.resolutionDelay), .connect(1, v4(1))]),
        (.connected(1), [.finish(1)]),
      ]),
    Case(
      "without addresses of IPv6 nothing is waited for but IPv4",
      [(six(), []), (four(1), [.connect(1, v4(1))]), (.failed(1), [.fail])]),
    Case("no address at all", [(four(), []), (six(), [.fail])]),
    Case(
      "the families take turns",
      [
        (six(1, 2, 3), [.start(.attemptDelay), .connect(1, v6(1))]),
        (four(1, 2), []),
        (.elapsed(.attemptDelay), [.start(.attemptDelay), .connect(2, v4(1))]),
        (.elapsed(.attemptDelay), [.start(.attemptDelay), .connect(3, v6(2))]),
        (.elapsed(.attemptDelay), [.start(.attemptDelay), .connect(4, v4(2))]),
        (.elapsed(.attemptDelay), [.connect(5, v6(3))]),
        (.connected(3), [.finish(3)]),
        (.failed(4), []),
        (.connected(5), []),
      ]),
    Case(
      "the next address is tried at once when one fails",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (four(1, 2), []),
        (.failed(1), [.start(.attemptDelay), .connect(2, v4(1))]),
        (.failed(2), [.stop(.attemptDelay), .connect(3, v4(2))]),
        (.failed(3), [.fail]),
      ]),
    Case(
      "also when one before the last fails",
      [
        (six(1, 2), [.start(.attemptDelay), .connect(1, v6(1))]),
        (four(1), []),
        (.elapsed(.attemptDelay), [.start(.attemptDelay), .connect(2, v4(1))]),
        (.failed(1), [.stop(.attemptDelay), .connect(3, v6(2))]),
        (.failed(2), []),
        (.failed(3), [.fail]),
      ]),
    Case(
      "failed addresses wait for the other family's answer",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (.failed(1), [.stop(.attemptDelay)]),
        (four(1), [.connect(2, v4(1))]),
        (.connected(2), [.finish(2)]),
      ]),
    Case(
      "failed addresses and no answer of the other family",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (.failed(1), [.stop(.attemptDelay)]),
        (four(), [.fail]),
      ]),
    Case(
      "addresses that come after the delay are tried at once beside the one that does not answer",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (.elapsed(.attemptDelay), []),
        (four(1), [.connect(2, v4(1))]),
        (.connected(1), [.finish(1)]),
      ]),
    Case(
      "addresses without a way to them come last",
      [
        (four(1, 2), [.start(.resolutionDelay)]),
        (unreachableSix(1), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v4(1))]),
        (.failed(1), [.start(.attemptDelay), .connect(2, v4(2))]),
        (.failed(2), [.stop(.attemptDelay), .connect(3, v6(1))]),
        (.failed(3), [.fail]),
      ]),
    Case(
      "an address without a way to it is not tried beside one that may answer",
      [
        (four(1), [.start(.resolutionDelay)]),
        (unreachableSix(1), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v4(1))]),
        (.elapsed(.attemptDelay), []),
        (.failed(1), [.connect(2, v6(1))]),
        (.failed(2), [.fail]),
      ]),
    Case(
      "new addresses join the one that does not answer",
      [
        (four(), []),
        (six(1), [.connect(1, v6(1))]),
        (.askedAgain, []),
        (four(2), [.start(.attemptDelay), .connect(2, v4(2))]),
        (six(), []),
        (.failed(2), [.stop(.attemptDelay)]),
        (.connected(1), [.finish(1)]),
      ]),
    Case(
      "the race is not lost while the name servers are asked again",
      [
        (four(), []),
        (six(1), [.connect(1, v6(1))]),
        (.askedAgain, []),
        (.failed(1), []),
        (six(), []),
        (four(), [.fail]),
      ]),
    Case(
      "the last winner is tried first, without a wait for IPv6",
      lastWinner: v4(2),
      [
        (four(1, 2), [.start(.attemptDelay), .connect(1, v4(2))]),
        (six(1), []),
        (.elapsed(.attemptDelay), [.start(.attemptDelay), .connect(2, v6(1))]),
        (.elapsed(.attemptDelay), [.connect(3, v4(1))]),
      ]),
    Case(
      "the last winner's family has a moment to be answered",
      lastWinner: v4(2),
      [
        (six(1), [.start(.resolutionDelay)]),
        (four(1, 2), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v4(2))]),
      ]),
    Case(
      "an address of the last winner's family, where it has others now",
      lastWinner: v4(9),
      [
        (six(1), [.start(.resolutionDelay)]),
        (four(1), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v4(1))]),
        (.failed(1), [.stop(.attemptDelay), .connect(2, v6(1))]),
      ]),
    Case(
      "a last winner to which no network leads any more is not preferred",
      lastWinner: v4(1),
      [
        (six(1), [.start(.resolutionDelay)]),
        (unreachableFour(1), [.stop(.resolutionDelay), .start(.attemptDelay), .connect(1, v6(1))]),
      ]),
    Case(
      "timers that ran out too late change nothing",
      [
        (.elapsed(.resolutionDelay), []),
        (.elapsed(.attemptDelay), []),
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (.elapsed(.resolutionDelay), []),
        (.connected(1), [.stop(.attemptDelay), .finish(1)]),
        (.elapsed(.attemptDelay), []),
      ]),
    Case(
      "a family is answered once, and attempts end once",
      [
        (six(1), [.start(.attemptDelay), .connect(1, v6(1))]),
        (six(2), []),
        (.failed(7), []),
        (.failed(1), [.stop(.attemptDelay)]),
        (.connected(1), []),
        (four(), [.fail]),
        (four(1), []),
      ]),
  ]

  @Test(arguments: cases) func inputsBecomeActions(_ test: Case) {
    var race = AddressRace(lastWinner: test.lastWinner)
    for (index, (input, expected)) in test.steps.enumerated() {
      let actions =
        switch input {
        case .answered(let family, let found): race.answered(family, found)
        case .elapsed(let timer): race.elapsed(timer)
        case .connected(let attempt): race.connected(attempt)
        case .failed(let attempt): race.failed(attempt)
        case .askedAgain: askAgain(&race)
        }
      #expect(actions == expected, "step \(index + 1)")
    }
  }

  private func askAgain(_ race: inout AddressRace) -> [AddressRace.Action] {
    race.askedAgain()
    return []
  }
}

import Testing
import TransferProtocol

@testable import TransferService

@Suite struct LimitTableTests {
  private static func limit(_ rate: Int64?, _ hours: String? = nil) -> BandwidthLimit {
    BandwidthLimit(bytesPerSecond: rate, hours: hours.flatMap { DailyHours($0) })
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let limits: [BandwidthLimit]
    /// At 03:00, 12:00 and 20:00.
    let rates: [Int64?]
  }

  static let cases = [
    Case(testDescription: "none", limits: [], rates: [nil, nil, nil]),
    Case(testDescription: "at all times", limits: [limit(5_000)], rates: [5_000, 5_000, 5_000]),
    Case(testDescription: "by day", limits: [limit(5_000, "08:00-18:00")], rates: [nil, 5_000, nil]),
    Case(testDescription: "over midnight", limits: [limit(5_000, "19:00-06:00")], rates: [5_000, nil, 5_000]),
    Case(
      testDescription: "hours come before the limit without", limits: [limit(5_000), limit(9_000, "19:00-06:00")],
      rates: [9_000, 5_000, 9_000]),
    Case(
      testDescription: "hours without a limit", limits: [limit(5_000), limit(nil, "00:00-08:00")],
      rates: [nil, 5_000, 5_000]),
    Case(
      testDescription: "the lowest of hours that overlap",
      limits: [limit(9_000, "08:00-18:00"), limit(5_000, "11:00-13:00")], rates: [nil, 5_000, nil]),
    Case(
      testDescription: "the same hours are replaced",
      limits: [limit(9_000, "08:00-18:00"), limit(5_000, "08:00-18:00")],
      rates: [nil, 5_000, nil]),
    Case(
      testDescription: "none removes all", limits: [limit(9_000, "08:00-18:00"), limit(5_000), limit(nil)],
      rates: [nil, nil, nil]),
  ]

  @Test(arguments: cases) func rateFollowsTheHours(_ test: Case) {
    var table = LimitTable()
    for limit in test.limits { table.set(limit) }
    #expect([180, 720, 1_200].map { table.rate(minute: $0) } == test.rates)
  }
}

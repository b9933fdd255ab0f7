import Foundation
import Testing

@testable import urlsession

struct BeginArgumentTests {
  /// 2026-11-27 22:30:00 in Berlin, an hour before UTC.
  private static let now = Date(timeIntervalSince1970: 1_795_815_000)

  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 3_600) ?? .gmt
    return calendar
  }()

  @Test(
    arguments: [
      ("90s", 90), ("30m", 1_800), ("2h", 7_200), ("1.5h", 5_400), ("1h30m", 5_400), ("2d", 172_800),
      ("1d2h3m4s", 93_784), ("0s", 0),
      ("22:45", 900), ("22:30", 86_400), ("08:00", 34_200),
      ("2026-11-28", 5_400), ("2026-11-27T22:31", 60), ("2026-11-27 22:30:30", 30), ("2026-11-27T22:00", -1_800),
      ("2026-11-27T21:31Z", 60), ("2026-11-27T22:31+01:00", 60), ("2026-11-27T16:31:00-05:00", 60),
      ("2028-02-29T00:00Z", 39_580_200),
    ] as [(String, TimeInterval)]) func time(_ text: String, _ seconds: TimeInterval) throws
  {
    let argument = try #require(BeginArgument(argument: text))
    #expect(argument.date(after: Self.now, in: Self.calendar).timeIntervalSince(Self.now) == seconds)
  }

  @Test(arguments: [
    "", "soon", "90", "1h1h", "1m1h", "h", "-5m", "1..5h", "400d", "99999999999999999999d", "24:00", "8:00", "12:60",
    "2026-13-01", "2026-02-29", "2026-11-31", "2026-11-00", "26-11-01", "2026-11-27T", "2026-11-27T22",
    "2026-11-27T22:31+1", "2026-11-27T22:31ZZ", "2026-11-27X22:31", "２h",
  ]) func noTime(_ text: String) { #expect(BeginArgument(argument: text) == nil) }
}

import Foundation
import SystemFakes
import SystemServices
import Testing

@testable import TransferService

/// Days on which the service ran while it kept something.
@Suite struct KeptDaysTests {
  private enum Step {
    case pass(days: Double)
    case set(days: Double)
    case restart(days: Double)
    /// The battery of the clock is missing: the machine starts in 1970.
    case restartIn1970
  }

  private static let courses: [(name: String, steps: [Step], days: Int)] = [
    ("no time", [], 0), ("a day", [.pass(days: 1)], 1), ("half days", [.pass(days: 0.5), .pass(days: 0.5)], 1),
    ("a machine that slept", [.pass(days: 40)], 1), ("a jump ahead", [.set(days: 40)], 0),
    ("jumps to and fro", [.set(days: 40), .set(days: -40), .set(days: 40), .set(days: -80)], 0),
    ("a jump by decades", [.set(days: 20_000), .pass(days: 1), .set(days: -20_000)], 1),
    ("a start on the next day", [.restart(days: 1), .restart(days: 1)], 2),
    ("a start on the same day", [.restart(days: 0.1), .restart(days: 0.1)], 0),
    ("a start that is long after", [.restart(days: 400)], 1),
    ("starts without a clock", [.restartIn1970, .restartIn1970, .restartIn1970], 1),
    (
      "a clock that is set at each start", [.restartIn1970, .set(days: 20_000), .restartIn1970, .set(days: 20_000)], 1
    ),
    ("a day after a start without a clock", [.restartIn1970, .set(days: 20_000), .pass(days: 1), .pass(days: 1)], 3),
  ]

  @Test(arguments: courses.indices) func daysAreCounted(course: Int) {
    let (name, steps, expected) = Self.courses[course]
    let clock = FakeClock()
    var days = KeptDays()
    days.count(["set-aside/a"], clock: clock)
    for step in steps {
      switch step {
      case .pass(let days): clock.advance(by: days * 86_400)
      case .set(let days): clock.setWallClock(forward: days * 86_400)
      case .restart(let days): clock.restartMachine(after: days * 86_400)
      case .restartIn1970: clock.restartMachine(after: -clock.date.timeIntervalSince1970)
      }
      // The service looks often.
      for _ in 0..<3 { days.count(["set-aside/a"], clock: clock) }
    }
    #expect(days["set-aside/a"] == expected, "\(name)")
  }

  @Test func newThingsBeginWithNoDaysAndOldOnesAreForgotten() {
    let clock = FakeClock()
    var days = KeptDays()
    days.count([], clock: clock)
    #expect(days == KeptDays())
    days.count(["a"], clock: clock)
    clock.advance(by: 86_400)
    days.count(["a", "b"], clock: clock)
    #expect((days["a"], days["b"]) == (1, 0))
    clock.advance(by: 86_400)
    days.count(["b"], clock: clock)
    #expect((days["a"], days["b"]) == (0, 1))
    days.count([], clock: clock)
    clock.advance(by: 86_400)
    days.count(["c"], clock: clock)
    days.count(["c"], clock: clock)
    #expect(days["c"] == 0)
  }

  @Test func theFileIsReadAgainAndOneThatIsDamagedCountsAnew() throws {
    let folder = try TemporaryFolder()
    let (disk, clock) = (LinuxFileSystem(), FakeClock())
    var days = KeptDays.read(in: folder.path, disk: disk)
    #expect(days == KeptDays())
    days.count(["a"], clock: clock)
    clock.advance(by: 86_400)
    days.count(["a"], clock: clock)
    try days.write(in: folder.path, disk: disk)
    #expect(KeptDays.read(in: folder.path, disk: disk) == days)
    for content in ["", "{", #"{"days":{"a":"x"}}"#] {
      try Data(content.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(KeptDays.fileName)"))
      #expect(KeptDays.read(in: folder.path, disk: disk) == KeptDays())
    }
    try Data(#"{"days":{"a":9223372036854775807}}"#.utf8)
      .write(to: URL(fileURLWithPath: "\(folder.path)/\(KeptDays.fileName)"))
    var large = KeptDays.read(in: folder.path, disk: disk)
    large.count(["a"], clock: clock)
    #expect(large["a"] > 1_000_000)
  }
}

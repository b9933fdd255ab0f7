import Foundation
import SystemFakes
import SystemServices
import Testing

@Suite struct ClockTests {
  @Test func systemClockAdvances() {
    let clock = SystemClock()
    let first = clock.now
    #expect(first.nanoseconds > 0)
    #expect(clock.now >= first)
    #expect(clock.bootID != "unknown")
  }

  @Test(arguments: [(1.5, 1_500_000_000), (-2, -2_000_000_000), (1e30, Int64.max), (-1e30, Int64.min)])
  func secondsAreAddedWithoutOverflow(seconds: TimeInterval, nanoseconds: Int64) {
    #expect((BootInstant(nanoseconds: 0) + seconds).nanoseconds == nanoseconds)
  }

  @Test func infiniteSecondsAreClamped() {
    #expect((BootInstant(nanoseconds: 5) + .infinity).nanoseconds == .max)
    #expect((BootInstant(nanoseconds: .max) + 1).nanoseconds == .max)
  }

  @Test func storedMomentIgnoresTheWallClock() throws {
    let clock = FakeClock()
    let due = clock.now + 100
    let stored = DurableInstant(due, clock: clock)
    clock.setWallClock(forward: -86_400)
    clock.advance(by: 40)
    let coded = try JSONDecoder().decode(DurableInstant.self, from: JSONEncoder().encode(stored))
    #expect(coded.instant(on: clock, past: 1_000, future: 1_000) == due)
  }

  @Test(arguments: [
    // (offset stored, wall time that passes over the restart, seconds from then)
    (100.0, 30.0, 70.0), (100, 500, -400), (100, 5_000, -1_000), (100, -90_000, 1_000), (-50, 20, -70),
  ])
  func afterARestartTheWallClockIsUsedWithinLimits(
    offset: TimeInterval, passed: TimeInterval, expected: TimeInterval
  ) {
    let clock = FakeClock()
    let stored = DurableInstant(clock.now + offset, clock: clock)
    clock.restartMachine(after: passed)
    let away = stored.instant(on: clock, past: 1_000, future: 1_000) - clock.now
    #expect(abs(away - expected) < 0.001)
  }

  @Test(arguments: [
    // (seconds counted before, wall time that passes over the restart, seconds from then)
    (400.0, 500.0, -900.0), (400, 5_000, -1_400), (400, -90_000, -400), (0, -90_000, 600), (.infinity, 500, -900),
  ])
  func afterARestartNothingIsTakenBackThatWasCounted(
    counted: TimeInterval, passed: TimeInterval, expected: TimeInterval
  ) {
    let clock = FakeClock()
    var stored = DurableInstant(clock.now + -400, clock: clock)
    stored.counted = counted
    clock.restartMachine(after: passed)
    let away = stored.instant(on: clock, past: 1_000, future: 600) - clock.now
    #expect(abs(away - expected) < 0.001)
  }
}

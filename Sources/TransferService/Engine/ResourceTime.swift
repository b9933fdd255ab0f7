import Foundation
import SystemServices
import TransferProtocol

/// The time that an app gives a transfer for the whole resource. It stands still while the app suspends the transfer, and while the
/// user pauses it.
enum ResourceTime {
  static let defaultLimit: TimeInterval = 7 * 86_400

  /// Seconds; an interval that is not positive and finite means that there is no limit.
  static func limit(_ options: SessionOptions) -> TimeInterval {
    let limit = options.timeoutIntervalForResource ?? defaultLimit
    return limit > 0 && limit.isFinite ? limit : .infinity
  }

  /// It begins when the app wants the transfer, whether or not it gets its turn then; not before the earliest date.
  static func start(earliestBegin: Date?, clock: any ServiceClock) -> DurableInstant {
    DurableInstant(clock.now + delay(earliestBegin, clock), clock: clock)
  }

  /// The beginning on the clock of this start of the machine; of a time that stands still, as if it went on from now. Across a
  /// restart only the wall clock tells how much has passed since the one before, and it may have been set: it takes half of the
  /// limit at most.
  static func start(
    _ stored: DurableInstant, limit: TimeInterval, earliestBegin: Date?, clock: any ServiceClock
  ) -> BootInstant {
    if let passed = passed(stored) { return clock.now + -passed }
    return stored.instant(on: clock, past: limit / 2, future: delay(earliestBegin, clock))
  }

  /// The beginning by the clock of this start of the machine, with what has passed by now: the next restart takes nothing
  /// of that back.
  static func anchor(
    _ stored: DurableInstant, limit: TimeInterval, earliestBegin: Date?, clock: any ServiceClock
  ) -> DurableInstant {
    let start = start(stored, limit: limit, earliestBegin: earliestBegin, clock: clock)
    var anchored = DurableInstant(start, clock: clock)
    anchored.counted = max(0, clock.now - start)
    return anchored
  }

  /// How much of it has passed, where it stands still; nil where it goes on.
  static func passed(_ stored: DurableInstant) -> TimeInterval? {
    stored.passed.map { $0.isFinite ? max(0, $0) : 0 }
  }

  /// It stands still from now on. A service of an earlier version lets it go on.
  static func stopped(
    _ stored: DurableInstant, limit: TimeInterval, earliestBegin: Date?, clock: any ServiceClock
  ) -> DurableInstant {
    let start = start(stored, limit: limit, earliestBegin: earliestBegin, clock: clock)
    var stopped = DurableInstant(start, clock: clock)
    stopped.passed = max(0, clock.now - start)
    return stopped
  }

  /// A time that stood still goes on. One that had not begun begins now, or with the earliest date.
  static func continued(_ stored: DurableInstant, earliestBegin: Date?, clock: any ServiceClock) -> DurableInstant {
    guard let passed = passed(stored) else { return stored }
    guard passed > 0 else { return start(earliestBegin: earliestBegin, clock: clock) }
    var start = DurableInstant(clock.now + -passed, clock: clock)
    start.counted = passed
    return start
  }

  private static func delay(_ date: Date?, _ clock: any ServiceClock) -> TimeInterval {
    max(0, date?.timeIntervalSince(clock.date) ?? 0)
  }
}

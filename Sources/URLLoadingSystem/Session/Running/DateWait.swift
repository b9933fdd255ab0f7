import Foundation

/// How to wait for a date with timers that know nothing of dates: they stand still while the machine sleeps, and do not
/// notice when its clock is set. So in short pauses, with a look at the date after each.
enum DateWait {
  /// In seconds: by so much a wait may end too late.
  static let longestPause: TimeInterval = 60

  /// How many seconds to pause before looking again; nil when the date has come.
  static func pause(until date: Date, now: Date) -> TimeInterval? {
    let rest = date.timeIntervalSince(now)
    return rest > 0 ? min(rest, longestPause) : nil
  }
}

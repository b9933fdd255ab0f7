import Foundation
import SystemServices

/// How fast bytes travel, over the last one or two windows of time.
struct ArrivalRate: Sendable {
  /// Seconds that are watched at least: a server may think for a while, and a network may pause.
  static let window: TimeInterval = 30

  private struct Mark {
    var instant: BootInstant
    var bytes: Int64
  }

  private var older: Mark
  private var newer: Mark
  private var bytes: Int64 = 0

  init(at now: BootInstant) {
    older = Mark(instant: now, bytes: 0)
    newer = older
  }

  mutating func add(_ count: Int64, at now: BootInstant) {
    // First, so that bytes after a pause count to the time after it.
    look(at: now)
    bytes += max(0, count)
  }

  /// Forgets what is older than two windows.
  mutating func look(at now: BootInstant) {
    guard now - newer.instant >= ArrivalRate.window else { return }
    older = newer
    newer = Mark(instant: now, bytes: bytes)
  }

  /// Bytes a second; nil until a window has passed.
  func perSecond(at now: BootInstant) -> Double? {
    let seconds = now - older.instant
    return seconds >= ArrivalRate.window ? Double(bytes - older.bytes) / seconds : nil
  }
}

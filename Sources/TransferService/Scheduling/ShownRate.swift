import Foundation
import SystemServices

/// How fast a run's bytes travel, as people are shown it: over the last seconds, and over the steps in which bytes are counted
/// where these are longer. The windows of `ArrivalRate` are too long for that.
struct ShownRate: Sendable, Equatable {
  /// Seconds that are looked back at least, once a run is so old.
  static let window: TimeInterval = 5
  /// Marks are so many seconds apart at least.
  private static let spacing: TimeInterval = 0.5
  /// The first bytes count as if they had taken so long: they have waited in the buffers of the system and arrive at once.
  private static let leastTime: TimeInterval = 1
  /// After so many seconds without a byte nothing travels: under the lowest limits a step takes long.
  private static let patience: TimeInterval = 30

  private struct Mark: Equatable {
    var instant: BootInstant
    var bytes: Int64
  }

  /// The oldest first, one at least.
  private var marks: [Mark]
  private var latest: Mark

  init(at now: BootInstant) {
    latest = Mark(instant: now, bytes: 0)
    marks = [latest]
  }

  mutating func add(_ count: Int64, at now: BootInstant) {
    guard count > 0 else { return }
    let (bytes, overflow) = latest.bytes.addingReportingOverflow(count)
    guard !overflow else { return self = ShownRate(at: now) }
    latest = Mark(instant: now, bytes: bytes)
    if let newest = marks.last, now - newest.instant < ShownRate.spacing { return }
    marks.append(latest)
    let old = marks.dropFirst().prefix { now - $0.instant >= ShownRate.window }
    marks.removeFirst(old.count)
  }

  /// Bytes a second.
  func perSecond(at now: BootInstant) -> Int64 {
    let silence = now - latest.instant
    guard let first = marks.first, silence < ShownRate.patience else { return 0 }
    // Until a step is late the time of the latest one counts: the bytes since then are not counted yet.
    let end = silence < ShownRate.window ? latest.instant : now
    let rate = Double(latest.bytes - first.bytes) / max(end - first.instant, ShownRate.leastTime)
    return Int64(exactly: rate.rounded()) ?? .max
  }
}

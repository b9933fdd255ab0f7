import NIOCore

/// Decides when the progress of a run is reported: the first bytes at once, later ones once an interval at most, and the
/// last ones before a standstill when the interval is over. A count that is shown is so never older than the interval.
struct ProgressThrottle {
  enum Verdict: Equatable {
    /// The count is to be reported now.
    case report
    /// `delayEnded` is to be called after this time.
    case reportAfter(TimeAmount)
    /// `delayEnded` will be called already.
    case wait
  }

  static let interval = TimeAmount.milliseconds(100)

  private var lastReport: NIODeadline?
  private var hasUnreported = false
  private var isDelayed = false

  /// - Parameter mustReport: Whether this count is reported whenever the last report was.
  mutating func advanced(at now: NIODeadline, mustReport: Bool = false) -> Verdict {
    let age = lastReport.map { now - $0 } ?? Self.interval
    if mustReport || age >= Self.interval {
      (lastReport, hasUnreported) = (now, false)
      return .report
    }
    hasUnreported = true
    guard !isDelayed else { return .wait }
    isDelayed = true
    return .reportAfter(Self.interval - age)
  }

  /// Whether the count is to be reported now.
  mutating func delayEnded(at now: NIODeadline) -> Bool {
    isDelayed = false
    guard hasUnreported else { return false }
    (lastReport, hasUnreported) = (now, false)
    return true
  }

  /// Forgets the count that waits: it begins anew, or the run is over.
  mutating func cancelDelay() { (isDelayed, hasUnreported) = (false, false) }
}

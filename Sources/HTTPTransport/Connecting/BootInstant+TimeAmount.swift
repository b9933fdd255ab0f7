import NIOCore
import SystemServices

/// Moments of things that are kept: a machine that slept has kept them for longer than `NIODeadline` would say, which does
/// not count that time.
extension BootInstant {
  static func + (instant: BootInstant, amount: TimeAmount) -> BootInstant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(amount.nanoseconds)
    return BootInstant(nanoseconds: overflow ? (amount < .zero ? .min : .max) : sum)
  }

  /// How long ago it was at `now`.
  func age(at now: BootInstant) -> TimeAmount {
    let (difference, overflow) = now.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return .nanoseconds(overflow ? (now < self ? .min : .max) : difference)
  }
}

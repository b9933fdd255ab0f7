import CLinux
import Foundation

/// A moment on the clock that starts with the machine, counts suspended time and is never set: waiting and time-outs
/// are measured on it, so that a jump of the wall clock neither starts nor ends anything.
package struct BootInstant: Sendable, Hashable, Comparable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static func now() -> BootInstant { BootInstant(nanoseconds: clinux_boot_nanoseconds()) }

  package static func < (left: BootInstant, right: BootInstant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// Seconds are clamped to what fits: ±292 years.
  package static func + (instant: BootInstant, seconds: TimeInterval) -> BootInstant {
    let added = Int64(exactly: (seconds * 1e9).rounded()) ?? (seconds < 0 ? .min : .max)
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(added)
    return BootInstant(nanoseconds: overflow ? (added < 0 ? .min : .max) : sum)
  }

  /// Seconds from `right` to `left`.
  package static func - (left: BootInstant, right: BootInstant) -> TimeInterval {
    (Double(left.nanoseconds) - Double(right.nanoseconds)) / 1e9
  }
}

import CLinux
import Foundation

/// A moment on the clock that starts with the machine, counts suspended time and is never set: waiting and time-outs
/// are measured on it, so that a jump of the wall clock neither starts nor ends anything.
package struct BootInstant: Sendable, Hashable, Comparable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

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

/// The time, as a value that can be replaced in tests.
package protocol ServiceClock: Sendable {
  var now: BootInstant { get }
  /// The wall clock: only for dates that people or apps chose, and for showing.
  var date: Date { get }
  /// Changes with every start of the machine.
  var bootID: String { get }
}

/// The machine's own clocks.
package struct SystemClock: ServiceClock {
  package let bootID: String

  package init() {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    bootID = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
  }

  package var now: BootInstant { BootInstant(nanoseconds: clinux_boot_nanoseconds()) }
  package var date: Date { Date() }
}

/// A moment that can be stored and understood again after a restart of the service or of the machine.
///
/// Within one start of the machine the boot clock alone counts. After another start the wall clock is the only
/// witness of the time that passed, and it is believed within limits that the reader gives.
package struct DurableInstant: Codable, Sendable, Equatable {
  package var bootID: String
  package var nanoseconds: Int64
  package var wall: Double

  package init(_ instant: BootInstant, clock: any ServiceClock) {
    bootID = clock.bootID
    nanoseconds = instant.nanoseconds
    wall = clock.date.timeIntervalSince1970 + (instant - clock.now)
  }

  /// The moment on today's boot clock. After a restart of the machine it is at most `past` seconds ago and at most
  /// `future` seconds ahead, whatever the wall clock says.
  package func instant(on clock: any ServiceClock, past: TimeInterval, future: TimeInterval) -> BootInstant {
    if bootID == clock.bootID { return BootInstant(nanoseconds: nanoseconds) }
    let away = wall - clock.date.timeIntervalSince1970
    return clock.now + min(max(away, -past), future)
  }
}

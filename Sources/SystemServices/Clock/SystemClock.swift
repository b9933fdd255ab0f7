import Foundation

/// The machine's own clocks.
package struct SystemClock: ServiceClock {
  package let bootID: String

  package init() {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    bootID = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
  }

  package var now: BootInstant { .now() }
  package var date: Date { Date() }
}

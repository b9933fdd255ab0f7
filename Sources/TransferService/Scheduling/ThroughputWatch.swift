import Foundation
import SystemServices

/// Whether a transfer receives or sends so slowly that it had better be tried at another time, as a value.
package struct ThroughputWatch: Sendable, Equatable {
  /// Bytes per second.
  package static let lowest: Double = 4_096
  /// Seconds over which it is measured.
  package static let interval: TimeInterval = 120
  /// Seconds until the next try: the cause may be the hour of the day.
  package static let pause: TimeInterval = 1_800

  private var began: BootInstant
  private var bytes: Int64

  package init(at now: BootInstant, moved: Int64) { (began, bytes) = (now, moved) }

  /// - Parameter moved: how many bytes there are now, or are sent.
  /// - Parameter isHeldBack: whether it is slow because the service has it so.
  package mutating func isTooSlow(moved: Int64, isHeldBack: Bool, at now: BootInstant) -> Bool {
    guard !isHeldBack, moved >= bytes else {
      (began, bytes) = (now, moved)
      return false
    }
    let seconds = now - began
    guard seconds >= Self.interval else { return false }
    defer { (began, bytes) = (now, moved) }
    return Double(moved - bytes) / seconds < Self.lowest
  }
}

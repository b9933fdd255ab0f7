import Foundation
import SystemServices

/// Whether a transfer receives so slowly that it had better be tried at another time, as a value.
package struct ThroughputWatch: Sendable, Equatable {
  /// Bytes per second.
  package static let lowest: Double = 4_096
  /// Seconds over which it is measured.
  package static let interval: TimeInterval = 120
  /// Seconds until the next try: the cause may be the hour of the day.
  package static let pause: TimeInterval = 1_800

  private var began: BootInstant
  private var bytes: Int64

  package init(at now: BootInstant, received: Int64) { (began, bytes) = (now, received) }

  /// - Parameter received: how many bytes there are now.
  /// - Parameter isHeldBack: whether it is slow because the service has it so.
  package mutating func isTooSlow(received: Int64, isHeldBack: Bool, at now: BootInstant) -> Bool {
    guard !isHeldBack, received >= bytes else {
      (began, bytes) = (now, received)
      return false
    }
    let seconds = now - began
    guard seconds >= Self.interval else { return false }
    defer { (began, bytes) = (now, received) }
    return Double(received - bytes) / seconds < Self.lowest
  }
}

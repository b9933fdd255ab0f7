import Foundation
import SystemServices

/// Whether the disk takes writes where one was refused for lack of room, as far as a probe has shown. A user's share of a
/// disk may be used up though the disk has room, and only a write finds that out. A value.
struct RoomProof: Sendable, Equatable {
  private(set) var isProbing = false
  private var found: BootInstant?
  /// Seconds for which a probe that succeeded lets transfers begin.
  private static let life: TimeInterval = 10

  /// Returns false where a probe is under way.
  mutating func begin() -> Bool {
    guard !isProbing else { return false }
    isProbing = true
    return true
  }

  mutating func ended(hasRoom: Bool, at now: BootInstant) {
    isProbing = false
    found = hasRoom ? now : nil
  }

  func holds(at now: BootInstant) -> Bool { found.map { now - $0 < Self.life } ?? false }
}

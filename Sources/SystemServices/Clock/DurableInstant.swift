import Foundation

/// A moment that can be stored and understood again after a restart of the service or of the machine.
///
/// Within one start of the machine the boot clock alone counts. After another start the wall clock is the only
/// witness of the time that passed, and it is believed within limits that the reader gives.
package struct DurableInstant: Codable, Sendable, Equatable {
  package var bootID: String
  package var nanoseconds: Int64
  package var wall: Double
  /// How many seconds of the time since then were counted before; nil: none. They count whatever the wall clock says.
  package var counted: TimeInterval?
  /// How many seconds of the time since then had passed when it was stopped; nil: it goes on. The reader decides what that means:
  /// `instant(on:past:future:)` does not look at it.
  package var passed: TimeInterval?

  /// One that was stored.
  package init(
    bootID: String, nanoseconds: Int64, wall: Double, counted: TimeInterval?, passed: TimeInterval? = nil
  ) {
    (self.bootID, self.nanoseconds, self.wall) = (bootID, nanoseconds, wall)
    (self.counted, self.passed) = (counted, passed)
  }

  package init(_ instant: BootInstant, clock: any ServiceClock) {
    bootID = clock.bootID
    nanoseconds = instant.nanoseconds
    wall = clock.date.timeIntervalSince1970 + (instant - clock.now)
  }

  /// The moment on today's boot clock. After a restart of the machine it is at most `past` seconds longer ago than was
  /// counted before, and at most `future` seconds ahead, whatever the wall clock says.
  package func instant(on clock: any ServiceClock, past: TimeInterval, future: TimeInterval) -> BootInstant {
    if bootID == clock.bootID { return BootInstant(nanoseconds: nanoseconds) }
    let away = wall - clock.date.timeIntervalSince1970
    let counted = counted.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
    return clock.now + min(max(away, -past - (counted ?? 0)), counted.map { -$0 } ?? future)
  }
}

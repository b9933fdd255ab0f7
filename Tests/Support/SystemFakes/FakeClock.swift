import Foundation
import Synchronization
import SystemServices

/// A clock that moves only when told to; the wall clock and the start of the machine can be changed on their own.
package final class FakeClock: ServiceClock {
  private struct State {
    var now = BootInstant(nanoseconds: 1_000_000_000_000)
    var date = Date(timeIntervalSince1970: 1_750_000_000)
    var bootID = "boot-1"
  }

  private let state = Mutex(State())

  package init() {}

  package var now: BootInstant { state.withLock { $0.now } }
  package var date: Date { state.withLock { $0.date } }
  package var bootID: String { state.withLock { $0.bootID } }

  /// Time passes on both clocks.
  package func advance(by seconds: TimeInterval) {
    state.withLock {
      $0.now = $0.now + seconds
      $0.date += seconds
    }
  }

  /// Sets the wall clock.
  package func setWallClock(forward seconds: TimeInterval) {
    state.withLock { $0.date += seconds }
  }

  /// The machine starts again, `seconds` later by the wall clock.
  package func restartMachine(after seconds: TimeInterval) {
    state.withLock {
      $0.bootID += "+"
      $0.now = BootInstant(nanoseconds: 5_000_000_000)
      $0.date += seconds
    }
  }
}

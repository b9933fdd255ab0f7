import LoopbackServer
import Synchronization
import SystemServices

/// A machine that sleeps when a test says so.
final class FakeSleep: SleepReporting {
  private let changed = Mutex<(@Sendable (SleepChange) -> Void)?>(nil)

  var isStarted: Bool { changed.withLock { $0 != nil } }

  func start(_ changed: @escaping @Sendable (SleepChange) -> Void) { self.changed.withLock { $0 = changed } }
  func stop() { changed.withLock { $0 = nil } }

  /// - Returns: opens when the service is ready.
  func fall() -> Gate {
    let ready = Gate()
    changed.withLock { $0 }?(.falls { ready.open() })
    return ready
  }

  func wake() { changed.withLock { $0 }?(.ended) }
}

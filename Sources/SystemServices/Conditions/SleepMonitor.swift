import Dispatch
import Synchronization

/// Tells of the sleep of this machine, as logind does over D-Bus.
///
/// While it is started it is subscribed to that, costs nothing in between, and has a lock with which logind waits a moment for
/// the service before the machine sleeps. Otherwise it has no connection. Without a bus, or without logind, it tells nothing.
package final class SleepMonitor: SleepReporting, @unchecked Sendable {
  private let queue = DispatchQueue(label: "sleep-monitor", qos: .utility)
  private let address: String?
  private let changed = Mutex<(@Sendable (SleepChange) -> Void)?>(nil)

  // Confined to the queue from here on.
  private lazy var watch = BusWatch<SleepBus>(
    on: queue, address: address,
    .init(
      connected: { [weak self] in self?.connected($0) }, look: { [weak self] in self?.look(at: $0) ?? .nothing }))
  private var lock: SleepLock?

  /// - Parameter address: where the message bus listens; nil for the system's.
  package init(address: String? = nil) { self.address = address }

  package func start(_ changed: @escaping @Sendable (SleepChange) -> Void) {
    self.changed.withLock { $0 = changed }
    queue.async { self.open() }
  }

  package func stop() {
    changed.withLock { $0 = nil }
    queue.async { self.close() }
  }

  private func open() {
    dispatchPrecondition(condition: .onQueue(queue))
    watch.start()
  }

  private func close() {
    dispatchPrecondition(condition: .onQueue(queue))
    watch.stop()
    lock = nil
  }

  private func connected(_ bus: SleepBus?) {
    dispatchPrecondition(condition: .onQueue(queue))
    lock = bus?.takeLock()
  }

  private func look(at bus: SleepBus) -> BusWatch<SleepBus>.Look {
    dispatchPrecondition(condition: .onQueue(queue))
    switch bus.next() {
    case .falls:
      let lock = lock.take()
      tell(.falls { lock?.release() })
    case .ended:
      // For the next time.
      if lock == nil { lock = bus.takeLock() }
      tell(.ended)
    case .other: break
    case .none: return .nothing
    case .gone: return .gone
    }
    return .something
  }

  private func tell(_ change: SleepChange) { changed.withLock { $0 }?(change) }
}

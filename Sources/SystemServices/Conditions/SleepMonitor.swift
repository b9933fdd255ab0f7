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
  private var bus: SleepBus?
  private var source: (any DispatchSourceRead)?
  private var lock: SleepLock?
  /// A machine without a bus is not asked again.
  private var hadBus = false

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

  private var isWanted: Bool { changed.withLock { $0 != nil } }

  private func open() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isWanted, source == nil, let bus = SleepBus(address: address) else { return }
    hadBus = true
    self.bus = bus
    bus.subscribe()
    let source = DispatchSource.makeReadSource(fileDescriptor: bus.descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.becameReadable() }
    // Closed only when the source no longer looks at it.
    source.setCancelHandler { withExtendedLifetime(bus) {} }
    self.source = source
    source.resume()
    lock = bus.takeLock()
    // The answers may have come with messages behind them, of which the descriptor tells no more.
    becameReadable()
  }

  private func close() {
    dispatchPrecondition(condition: .onQueue(queue))
    // It was started again meanwhile.
    guard !isWanted else { return }
    disconnect()
  }

  private func disconnect() {
    dispatchPrecondition(condition: .onQueue(queue))
    source?.cancel()
    (source, bus, lock) = (nil, nil, nil)
  }

  private func becameReadable() {
    dispatchPrecondition(condition: .onQueue(queue))
    while let bus {
      switch bus.next() {
      case .falls:
        let lock = lock.take()
        tell(.falls { lock?.release() })
      case .ended:
        // For the next time.
        if lock == nil { lock = bus.takeLock() }
        tell(.ended)
      case .other: break
      case .none: return
      case .gone:
        disconnect()
        openAgain()
      }
    }
  }

  /// Seconds between two tries to reach a bus that has ended.
  private static let patience = 30.0

  /// A transfer may wait for days, through which no start comes.
  private func openAgain() {
    guard isWanted, source == nil, hadBus else { return }
    queue.asyncAfter(deadline: .now() + SleepMonitor.patience) { [weak self] in
      self?.open()
      self?.openAgain()
    }
  }

  private func tell(_ change: SleepChange) { changed.withLock { $0 }?(change) }
}

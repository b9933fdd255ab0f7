import Dispatch
import Synchronization

/// The conditions of this machine, as NetworkManager, UPower and logind tell them over D-Bus, and the load.
///
/// While it is started it is subscribed to their changes and costs nothing between them; otherwise it has no connection. The
/// load is read whenever it is asked for. Without a bus, or without one of the services, what they would tell is nil; without
/// all of them the load is nil, too.
package final class MachineConditionsMonitor: ConditionsReporting, @unchecked Sendable {
  private struct State {
    var known: MachineConditions?
    var changed: (@Sendable () -> Void)?
  }

  private let queue = DispatchQueue(label: "machine-conditions", qos: .utility)
  private let address: String?
  private let state = Mutex(State())

  // Confined to the queue from here on.
  private var bus: ConditionsBus?
  private var source: (any DispatchSourceRead)?

  /// - Parameter address: where the message bus listens; nil for the system's.
  package init(address: String? = nil) { self.address = address }

  package var conditions: MachineConditions? {
    var conditions = state.withLock { $0.known }
    // A machine without any of the services is a server or a container: its work is not put off.
    if conditions?.isUnknown == false { conditions?.load = MachineLoad.perProcessor }
    return conditions
  }

  package func start(_ changed: @escaping @Sendable () -> Void) {
    state.withLock { $0.changed = changed }
    queue.async { self.open() }
  }

  package func stop() {
    state.withLock { $0 = State() }
    queue.async { self.close() }
  }

  private var isWanted: Bool { state.withLock { $0.changed != nil } }

  private func open() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard isWanted, source == nil else { return }
    guard let bus = ConditionsBus(address: address) else { return note(MachineConditions()) }
    self.bus = bus
    // Before the first reading, so that no change is missed between the two.
    bus.subscribe()
    let source = DispatchSource.makeReadSource(fileDescriptor: bus.descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.becameReadable() }
    // Closed only when the source no longer looks at it.
    source.setCancelHandler { withExtendedLifetime(bus) {} }
    self.source = source
    source.resume()
    note(bus.read())
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
    source = nil
    bus = nil
  }

  private func becameReadable() {
    dispatchPrecondition(condition: .onQueue(queue))
    while let bus {
      switch bus.drain() {
      case true?: note(bus.read())
      case false?: return
      // The bus has ended. What it told counts no more; the next start connects again.
      case nil:
        disconnect()
        note(MachineConditions())
      }
    }
  }

  private func note(_ conditions: MachineConditions) {
    dispatchPrecondition(condition: .onQueue(queue))
    let changed = state.withLock { state -> (@Sendable () -> Void)? in
      guard let changed = state.changed, state.known != conditions else { return nil }
      state.known = conditions
      return changed
    }
    changed?()
  }
}

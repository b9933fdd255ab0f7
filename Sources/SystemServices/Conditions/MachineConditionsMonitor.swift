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
  private lazy var watch = BusWatch<ConditionsBus>(
    on: queue, address: address,
    .init(
      connected: { [weak self] in self?.connected($0) }, look: { [weak self] in self?.look(at: $0) ?? .nothing }))

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

  private func open() {
    dispatchPrecondition(condition: .onQueue(queue))
    watch.start()
  }

  private func close() {
    dispatchPrecondition(condition: .onQueue(queue))
    watch.stop()
  }

  /// A bus that has ended says nothing of the machine any more.
  private func connected(_ bus: ConditionsBus?) {
    dispatchPrecondition(condition: .onQueue(queue))
    note(bus?.read() ?? MachineConditions())
  }

  private func look(at bus: ConditionsBus) -> BusWatch<ConditionsBus>.Look {
    dispatchPrecondition(condition: .onQueue(queue))
    switch bus.drain() {
    case true?:
      note(bus.read())
      return .something
    case false?: return .nothing
    case nil: return .gone
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

import Synchronization
import SystemServices

/// Conditions that a test sets.
final class FakeConditions: ConditionsReporting {
  private struct State {
    var present: MachineConditions?
    var changed: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  /// - Parameter present: nil: they are not read before the test says so.
  init(_ present: MachineConditions? = MachineConditions()) { state = Mutex(State(present: present)) }

  var conditions: MachineConditions? { state.withLock { $0.present } }
  var isStarted: Bool { state.withLock { $0.changed != nil } }

  func start(_ changed: @escaping @Sendable () -> Void) {
    state.withLock { $0.changed = changed }
    if conditions != nil { changed() }
  }

  func stop() { state.withLock { $0.changed = nil } }

  func become(_ change: (inout MachineConditions) -> Void) {
    let changed = state.withLock { state in
      var present = state.present ?? MachineConditions()
      change(&present)
      state.present = present
      return state.changed
    }
    changed?()
  }
}

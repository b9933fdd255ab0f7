import Foundation
import Observation

/// What Apple's systems offer by key-value observing is offered by Observation: `withObservationTracking` and
/// `Observations` tell of changes of every property that can change.
///
/// A change is told once the property has its new value, on the thread that changed it, which for what happens on the
/// network is one that serves many loads: do little there. Observation begins to watch after the properties were read,
/// so a change in between is not told: who must not miss the last one reads once more after that.
extension URLSessionTask: Observable {
  /// Reads a property on behalf of the app, whom its changes may concern.
  func read<Value, Shown>(_ property: KeyPath<URLSessionTask, Shown>, _ value: (borrowing TaskState) -> Value) -> Value
  {
    let (registrar, value) = lockedState.withLock { state -> (ObservationRegistrar, Value) in
      // Made when the app first reads a property: of most tasks it never reads one.
      let registrar = state.registrar ?? ObservationRegistrar()
      state.registrar = registrar
      return (registrar, value(state))
    }
    watchers.bitwiseOr(Watchers.observed, ordering: .acquiringAndReleasing)
    registrar.access(self, keyPath: property)
    return value
  }

  /// Tells those who observe `property` that it has changed. Not to be called with a lock held.
  func didChange<Value>(_ property: KeyPath<URLSessionTask, Value>) {
    guard watchers.load(ordering: .acquiring) & Watchers.observed != 0,
      let registrar = lockedState.withLock({ $0.registrar })
    else { return }
    registrar.withMutation(of: self, keyPath: property) {}
  }

  /// Changes the state and tells of it.
  func change<Value, Shown>(
    _ property: KeyPath<URLSessionTask, Shown>, _ change: (inout TaskState) -> Value
  ) -> Value {
    let value = lockedState.withLock { change(&$0) }
    didChange(property)
    return value
  }

  /// Changes what the task is doing, and tells of it.
  func steer(_ change: (inout TaskState) -> TaskState.Action) -> TaskState.Action {
    let (action, hasChanged) = lockedState.withLock { state in
      let before = state.publicState
      let action = change(&state)
      return (action, state.publicState != before)
    }
    if hasChanged {
      didChange(\.state)
      mirrorState()
    }
    return action
  }
}

/// Who watches a task. Nobody does of most: one look at these bits is then all that a change costs.
enum Watchers {
  static let progress: UInt8 = 1
  static let observed: UInt8 = 2
}

import Foundation
import Observation

/// In place of Apple's key-value observing there is Observation: `withObservationTracking` and `Observations` tell of
/// changes of every property that can change.
///
/// A change is told once the property has its new value, on the thread that changed it, which for what happens on the
/// network is one that serves many loads: do little there. Observation begins to watch after the properties were read,
/// so a change in between is not told: read once more after that not to miss the last one.
extension URLSessionTask: Observable {
  /// Reads a property on behalf of the app, whom its changes may concern.
  ///
  /// - Parameter isFinalAtEnd: Whether the property stays as it is once the task has ended. Then nothing is watched any more.
  func read<Value, Shown>(
    _ property: KeyPath<URLSessionTask, Shown>, isFinalAtEnd: Bool = false, _ value: (borrowing TaskState) -> Value
  ) -> Value {
    let (registrar, value) = lockedState.withLock { state -> (ObservationRegistrar?, Value) in
      if isFinalAtEnd, state.phase == .completed { return (nil, value(state)) }
      // Made when the app first reads a property: of most tasks it never reads one.
      let registrar = state.registrar ?? ObservationRegistrar()
      state.registrar = registrar
      return (registrar, value(state))
    }
    guard let registrar else { return value }
    flags.bitwiseOr(TaskFlags.isObserved, ordering: .acquiringAndReleasing)
    registrar.access(self, keyPath: property)
    return value
  }

  /// Tells observers of `property` that it has changed. Not to be called with a lock held.
  func didChange<Value>(_ property: @autoclosure () -> KeyPath<URLSessionTask, Value>) {
    guard flags.load(ordering: .acquiring) & TaskFlags.isObserved != 0,
      let registrar = lockedState.withLock({ $0.registrar })
    else { return }
    registrar.withMutation(of: self, keyPath: property()) {}
  }

  /// Changes the state and tells of it.
  func change<Value, Shown>(
    _ property: @autoclosure () -> KeyPath<URLSessionTask, Shown>, _ change: (inout TaskState) -> Value
  ) -> Value {
    let value = lockedState.withLock { change(&$0) }
    didChange(property())
    return value
  }

  /// Changes what the task is doing, and tells of it.
  func steer(_ change: (inout TaskState) -> TaskState.Action) -> TaskState.Action {
    let (action, hasChanged) = lockedState.withLock { state in
      let before = state.publicState
      let action = change(&state)
      if state.isCancelled { flags.bitwiseOr(TaskFlags.isCancelled, ordering: .releasing) }
      return (action, state.publicState != before)
    }
    if hasChanged, isWatched {
      didChange(\.state)
      mirrorState()
    }
    return action
  }

  /// Tells that the task has ended.
  func didComplete() {
    guard isWatched else { return }
    countersChanged()
    didChange(\.error)
    didChange(\.state)
  }

  /// Whether a change must be shown anywhere. Of most tasks none must: this look is then all that a change costs.
  var isWatched: Bool { flags.load(ordering: .acquiring) & TaskFlags.isWatched != 0 }
}

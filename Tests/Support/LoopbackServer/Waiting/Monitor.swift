import Synchronization

/// State behind a lock whose every change wakes the tasks whose condition it makes true.
///
/// The one waiting primitive of the test support: gates, recorders and the servers' tables are built on it, so no test
/// has to sleep or poll for something that happens inside this process. Waiting obeys task cancellation. Waiters whose
/// conditions come true together are served in the order in which they began to wait.
package final class Monitor<State: Sendable>: Sendable {
  private struct Waiter: Sendable {
    let id: UInt64
    /// Tries the condition. When it holds, gives what must run once the lock is released.
    let attempt: @Sendable (inout State) -> (@Sendable () -> Void)?
    let abandon: @Sendable () -> Void
  }

  private struct Guarded: Sendable {
    var state: State
    var waiters: [Waiter] = []
    /// Waits that were cancelled before their continuation was in place.
    var cancelledEarly: Set<UInt64> = []
    var lastID: UInt64 = 0
  }

  private let guarded: Mutex<Guarded>

  package init(_ state: State) {
    guarded = Mutex(Guarded(state: state))
  }

  /// A copy of the state as it is now.
  package var current: State {
    guarded.withLock { $0.state }
  }

  /// Changes the state and wakes every waiter whose condition now holds. Returns what `change` returns.
  @discardableResult
  package func update<Value: Sendable>(_ change: @Sendable (inout State) -> Value) -> Value {
    let (value, resumptions) = guarded.withLock { guarded -> (Value, [@Sendable () -> Void]) in
      let value = change(&guarded.state)
      guard !guarded.waiters.isEmpty else { return (value, []) }
      var resumptions: [@Sendable () -> Void] = []
      var still: [Waiter] = []
      for waiter in guarded.waiters {
        if let resume = waiter.attempt(&guarded.state) {
          resumptions.append(resume)
        } else {
          still.append(waiter)
        }
      }
      guarded.waiters = still
      return (value, resumptions)
    }
    for resume in resumptions { resume() }
    return value
  }

  /// Waits until `condition` gives a value, and returns it. The condition runs under the lock and may take what it
  /// returns out of the state. Throws `CancellationError` when the task is cancelled first.
  package func wait<Value: Sendable>(
    until condition: @escaping @Sendable (inout State) -> Value?
  ) async throws -> Value {
    let id = guarded.withLock { guarded in
      guarded.lastID += 1
      return guarded.lastID
    }
    defer { _ = guarded.withLock { $0.cancelledEarly.remove(id) } }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
        let immediately = guarded.withLock { guarded -> (@Sendable () -> Void)? in
          if guarded.cancelledEarly.contains(id) {
            return { continuation.resume(throwing: CancellationError()) }
          }
          let waiter = Waiter(
            id: id,
            attempt: { state in
              guard let value = condition(&state) else { return nil }
              return { continuation.resume(returning: value) }
            },
            abandon: { continuation.resume(throwing: CancellationError()) })
          if let resume = waiter.attempt(&guarded.state) { return resume }
          guarded.waiters.append(waiter)
          return nil
        }
        immediately?()
      }
    } onCancel: {
      let abandon = guarded.withLock { guarded -> (@Sendable () -> Void)? in
        guard let index = guarded.waiters.firstIndex(where: { $0.id == id }) else {
          guarded.cancelledEarly.insert(id)
          return nil
        }
        return guarded.waiters.remove(at: index).abandon
      }
      abandon?()
    }
  }
}

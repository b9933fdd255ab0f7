import Synchronization

/// A result that comes once, and one task that waits for it. Later results are ignored.
package final class PendingResult<Value: Sendable>: Sendable {
  private enum Phase {
    case pending
    case awaited(CheckedContinuation<Value, any Error>)
    case finished(Result<Value, any Error>)
  }

  private let phase = Mutex(Phase.pending)

  package init() {}

  var isFinished: Bool { phase.withLock { if case .finished = $0 { true } else { false } } }

  /// False when there was a result already.
  @discardableResult
  package func finish(_ result: Result<Value, any Error>) -> Bool {
    let (isFirst, waiter) = phase.withLock { phase -> (Bool, CheckedContinuation<Value, any Error>?) in
      switch phase {
      case .finished: return (false, nil)
      case .pending:
        phase = .finished(result)
        return (true, nil)
      case .awaited(let waiter):
        phase = .finished(result)
        return (true, waiter)
      }
    }
    waiter?.resume(with: result)
    return isFirst
  }

  /// Waits until there is a result. For one task, once.
  package func value() async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let result = phase.withLock { phase -> Result<Value, any Error>? in
        if case .finished(let result) = phase { return result }
        phase = .awaited(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

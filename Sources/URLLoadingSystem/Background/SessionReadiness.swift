import Foundation
import Synchronization

/// Whether the tasks of earlier processes are known, or why the session can't be used. Usable from any thread.
final class SessionReadiness: Sendable {
  private enum State {
    case pending([@Sendable () -> Void])
    case ready
    case failed(URLError)
  }

  private let state = Mutex(State.pending([]))

  /// Why the session can't be used; nil while it can.
  var failure: URLError? {
    state.withLock { if case .failed(let error) = $0 { error } else { nil } }
  }

  func succeed() {
    settle { if case .pending = $0 { $0 = .ready } }
  }

  func fail(_ error: URLError) {
    settle { $0 = .failed(error) }
  }

  /// Runs `action` once it is decided: at once when it is.
  func whenSettled(_ action: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock { state in
      guard case .pending(let waiters) = state else { return true }
      state = .pending(waiters + [action])
      return false
    }
    if isSettled { action() }
  }

  private func settle(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      var waiters: [@Sendable () -> Void] = []
      if case .pending(let waiting) = state { waiters = waiting }
      change(&state)
      return waiters
    }
    for waiter in waiters { waiter() }
  }
}

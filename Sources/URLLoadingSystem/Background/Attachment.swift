import Foundation

/// Whether a background session is attached to the transfer service, for threads that have to know before they go on:
/// a task's identifier comes from the service, and the factory that makes the task has no way to be `async`.
final class Attachment: @unchecked Sendable {
  private enum State {
    case pending
    case attached
    case failed(URLError)
  }

  private let condition = NSCondition()
  private var state = State.pending
  private var nextIdentifier = 1
  /// A factory has waited in vain; later ones do not wait again.
  private var hasTimedOut = false
  /// For tasks made before the service has said where to count from: far above what any session reaches, and not where
  /// an earlier process began.
  private var provisionalIdentifier = (1 << 40) + Int.random(in: 0..<(1 << 40))
  private var waiters: [@Sendable () -> Void] = []

  /// How long a factory waits for a service that is just starting.
  private let patience: TimeInterval

  init(patience: TimeInterval = 10) { self.patience = patience }

  /// The next task identifier. Waits until the session is attached, but once in vain is enough: then it is one that no
  /// other task of the session has, so that a service that comes late can still take the task.
  func reserveIdentifier() -> Int {
    condition.lock()
    defer { condition.unlock() }
    let deadline = Date(timeIntervalSinceNow: patience)
    while case .pending = state, !hasTimedOut {
      if !condition.wait(until: deadline) { hasTimedOut = true }
    }
    if case .pending = state {
      defer { provisionalIdentifier += 1 }
      return provisionalIdentifier
    }
    defer { nextIdentifier += 1 }
    return nextIdentifier
  }

  func succeed(nextIdentifier: Int) {
    settle {
      state = .attached
      self.nextIdentifier = max(self.nextIdentifier, nextIdentifier)
    }
  }

  func fail(_ error: URLError) {
    settle { state = .failed(error) }
  }

  /// Why the session can't be used; nil while it can.
  var failure: URLError? {
    condition.lock()
    defer { condition.unlock() }
    if case .failed(let error) = state { return error }
    return nil
  }

  /// Runs `action` once it is decided whether the session is attached: at once when it is.
  func whenSettled(_ action: @escaping @Sendable () -> Void) {
    condition.lock()
    if case .pending = state {
      waiters.append(action)
      condition.unlock()
    } else {
      condition.unlock()
      action()
    }
  }

  private func settle(_ change: () -> Void) {
    condition.lock()
    change()
    let waiting = waiters
    waiters = []
    condition.broadcast()
    condition.unlock()
    for waiter in waiting { waiter() }
  }
}

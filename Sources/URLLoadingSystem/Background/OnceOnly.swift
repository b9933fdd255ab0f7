import Synchronization

/// Does something the first time it is asked to. From any thread.
final class OnceOnly: Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>

  init(_ action: @escaping @Sendable () -> Void) { self.action = Mutex(action) }

  func perform() {
    let action = action.withLock { stored in
      defer { stored = nil }
      return stored
    }
    action?()
  }
}

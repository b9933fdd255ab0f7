import Synchronization

/// Bytes that arrived and that the app was not told of yet: told in one call, however many pieces they came in.
final class ReceivedLength: Sendable {
  private let count = Mutex(0)

  /// Returns whether the app is to be told: it was told of all before.
  func add(_ bytes: Int) -> Bool {
    count.withLock { count in
      defer { count += bytes }
      return count == 0
    }
  }

  func take() -> Int {
    count.withLock { count in
      defer { count = 0 }
      return count
    }
  }
}

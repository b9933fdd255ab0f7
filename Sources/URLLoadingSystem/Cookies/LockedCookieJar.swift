import Synchronization

/// The cookies of a store behind a lock. Whether there are any is known without it.
final class LockedCookieJar: Sendable {
  private let jar = Mutex(CookieJar())
  private let count = Atomic<Int>(0)

  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  func withLock<Result: Sendable>(_ body: (inout CookieJar) -> Result) -> Result {
    jar.withLock { jar in
      defer { count.store(jar.count, ordering: .releasing) }
      return body(&jar)
    }
  }
}

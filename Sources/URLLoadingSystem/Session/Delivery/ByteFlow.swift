import Synchronization

/// Back-pressure between a load and the app: counts bytes handed over but not yet consumed.
///
/// The load, on its event loop, adds bytes and waits in `makeRoom` while there are too many; the consumer, on any
/// thread, removes them. One load waits at a time.
final class ByteFlow: Sendable {
  private struct State {
    var outstanding = 0
    var waiter: UnsafeContinuation<Void, Never>?
    /// Set once the consumer takes no more: the load must not wait for it.
    var isOpen = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: How many bytes may be outstanding, in bytes. A waiting load goes on at half of it.
  init(limit: Int = 512 * 1024) { self.limit = limit }

  /// Returns whether the load must wait before it adds more.
  func add(_ count: Int) -> Bool {
    state.withLock { state in
      state.outstanding += count
      return state.outstanding > limit && !state.isOpen
    }
  }

  /// Whether everything was consumed.
  var isEmpty: Bool { state.withLock { $0.outstanding == 0 } }

  func remove(_ count: Int) {
    let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      state.outstanding -= count
      guard state.outstanding <= limit / 2 else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Ends all waiting, now and later.
  func open() {
    let waiter = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      state.isOpen = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits until at most half of the limit is outstanding.
  func makeRoom(_ control: LoadControl) async throws {
    try await control.whileClientHoldsLoad {
      try await control.abortable(onAbort: { _ in self.open() }) {
        await withUnsafeContinuation { continuation in
          let goesOn = self.state.withLock { state in
            if state.isOpen || state.outstanding <= self.limit / 2 { return true }
            state.waiter = continuation
            return false
          }
          if goesOn { continuation.resume() }
        }
      }
    }
  }
}

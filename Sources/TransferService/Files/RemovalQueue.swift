import Dispatch
import Synchronization

/// Removes files one after the other, in the order in which that was asked for. A file system takes seconds for a large
/// file, and a disk that hangs takes longer, so this waits on a queue of its own. May be used from any thread.
final class RemovalQueue: Sendable {
  private struct State {
    var count = 0
    var idleCallbacks: [@Sendable () -> Void] = []
  }

  private let queue = DispatchQueue(label: "transfer-engine.removals", qos: .utility)
  private let state = Mutex(State())

  /// Whether everything that was asked for has been done, or has failed.
  var isIdle: Bool { state.withLock { $0.count == 0 } }

  func run(_ removal: @escaping @Sendable () -> Void) {
    state.withLock { $0.count += 1 }
    queue.async { [self] in
      removal()
      ended()
    }
  }

  /// Calls back when it is idle: at once, or on the queue.
  func whenIdle(_ callback: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if state.count > 0 { state.idleCallbacks.append(callback) }
      return state.count == 0
    }
    if isIdle { callback() }
  }

  private func ended() {
    let callbacks = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [@Sendable () -> Void]() }
      defer { state.idleCallbacks = [] }
      return state.idleCallbacks
    }
    for callback in callbacks { callback() }
  }
}

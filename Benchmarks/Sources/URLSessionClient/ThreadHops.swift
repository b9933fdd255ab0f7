import Foundation

/// The changes of thread between `resume()` and a completion handler of a load that a custom protocol answers, with nothing
/// else: to the protocol's thread, and from there to an operation queue.
final class ThreadHops: @unchecked Sendable {
  // Sendable by hand: the condition's lock guards what waits.
  private let condition = NSCondition()
  private var waiting: [@Sendable () -> Void] = []
  private let queue = OperationQueue()

  init() {
    queue.maxConcurrentOperationCount = 1
    Thread.detachNewThread { [self] in
      while true { next()() }
    }
  }

  /// Runs `block` on the queue, which gets it from the thread.
  func make(_ block: @escaping @Sendable () -> Void) {
    condition.withLock {
      waiting.append { [queue] in queue.addOperation(block) }
      condition.signal()
    }
  }

  private func next() -> @Sendable () -> Void {
    condition.withLock {
      while waiting.isEmpty { condition.wait() }
      return waiting.removeFirst()
    }
  }
}

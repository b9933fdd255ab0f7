import DequeModule
import Dispatch
import Foundation
import Synchronization

/// A thread of `ProtocolThreads`, with a run loop.
///
/// The thread waits for work, not in its run loop. While it has a load it looks into the run loop every few milliseconds,
/// and when a timer there is due: protocols may use timers and `RunLoop.perform`.
final class ProtocolThread: Sendable {
  private let pool: ProtocolThreads
  private let work = Mutex(Deque<@Sendable () -> Void>())
  private let signal = DispatchSemaphore(value: 0)
  /// How many loads have begun here and have not been stopped.
  private let loads = Atomic<Int>(0)
  private let number = Atomic<UInt>(0)

  /// The longest time between two looks into the run loop while the thread has loads.
  private static let runLoopInterval = 0.01

  init(of pool: ProtocolThreads) { self.pool = pool }

  func run() {
    let thread = Thread { self.main() }
    thread.name = "URLProtocol"
    thread.start()
  }

  /// Runs `action` on the thread, after what was given to it before.
  func perform(_ action: @escaping @Sendable () -> Void) {
    work.withLock { $0.append(action) }
    wake()
  }

  func wake() { signal.signal() }

  func assertOnThread() { assert(number.load(ordering: .relaxed) == UInt(pthread_self())) }

  /// A load has begun on the thread.
  func loadBegan() { loads.add(1, ordering: .relaxed) }

  /// It was stopped.
  func loadEnded() { loads.subtract(1, ordering: .relaxed) }

  // MARK: On the thread

  private func main() {
    number.store(UInt(pthread_self()), ordering: .relaxed)
    var nextLook = DispatchTime.now()
    while true {
      while let action = work.withLock({ $0.popFirst() }) { action() }
      // A timer of an app's may block, so the thread does not count as free before.
      look(&nextLook)
      if let start = pool.next(for: self) {
        start(self)
        continue
      }
      if loads.load(ordering: .relaxed) > 0 {
        _ = signal.wait(timeout: nextLook)
      } else {
        signal.wait()
      }
      pool.leaveFree(self, isBusy: !work.withLock { $0.isEmpty })?(self)
    }
  }

  /// Runs what is due in the run loop, when the thread has loads and the time for it has come.
  private func look(_ next: inout DispatchTime) {
    guard loads.load(ordering: .relaxed) > 0, next <= .now() else { return }
    let interval = ProtocolThread.runLoopInterval
    // Without anything in the run loop there is no date.
    let limit = RunLoop.current.limitDate(forMode: .default)?.timeIntervalSinceNow ?? interval
    next = .now() + min(max(limit, 0), interval)
  }
}

import CLinux
import Foundation

/// Leases, and a thread that waits for the signals of those that are broken. It is there as long as there is a lease, and wakes
/// for the signals, and for the times that it was given. No other thread gets the signals. From any thread.
package final class LeaseWatch: @unchecked Sendable {
  private struct Watched {
    let lease: FileLease
    var due: ContinuousClock.Instant?
    var call: (@Sendable () -> Void)?

    func isDue(at now: ContinuousClock.Instant) -> Bool {
      call != nil && (due.map { $0 <= now } ?? false || !lease.isWhole)
    }
  }

  // Sendable by hand: what follows is touched while `condition` is locked.
  private let condition = NSCondition()
  private var watched: [ObjectIdentifier: Watched] = [:]
  /// Leases that are being taken.
  private var taking = 0
  private var thread: pid_t?
  private var isStarting = false
  /// That of the thread that is waited for or runs. One that begins after it was given up is of an earlier number, and ends.
  private var threadNumber = 0

  private let limit: Int
  private let start: @Sendable (Thread) -> Void

  /// - Parameters:
  ///   - limit: how many leases there are at most. Each keeps a file open.
  ///   - start: starts a thread, which says nothing where the machine has no more.
  package init(limit: Int = 64, start: @escaping @Sendable (Thread) -> Void = { $0.start() }) {
    (self.limit, self.start) = (limit, start)
  }

  /// How many leases there are.
  package var count: Int { condition.withLock { watched.count } }

  /// nil where it is refused, or there are as many as may be.
  package func take(_ file: SourceFile, of disk: any DurableFileSystem) -> FileLease? {
    condition.withLock {
      guard watched.count + taking < limit else { return nil }
      taking += 1
      defer {
        taking -= 1
        endIfIdle()
      }
      guard let thread = startedThread(), let lease = disk.lease(file, telling: thread) else { return nil }
      watched[ObjectIdentifier(lease)] = Watched(lease: lease)
      return lease
    }
  }

  /// Calls once, from the thread: when the lease is broken, or after a while. Replaces an earlier call.
  ///
  /// - Parameter delay: nil: only when it is broken.
  package func call(_ call: @escaping @Sendable () -> Void, for lease: FileLease, after delay: Duration?) {
    condition.withLock {
      let id = ObjectIdentifier(lease)
      guard watched[id] != nil else { return }
      watched[id]?.due = delay.map { .now + $0 }
      watched[id]?.call = call
      wake()
    }
  }

  /// Gives the lease back, and makes no call for it from now on.
  package func release(_ lease: FileLease) {
    condition.withLock {
      watched[ObjectIdentifier(lease)] = nil
      lease.release()
      endIfIdle()
    }
  }

  // MARK: The thread

  /// Seconds for which the thread is waited for. A machine may have no more threads.
  private static let patience: TimeInterval = 1

  private func startedThread() -> pid_t? {
    if !isStarting, thread == nil {
      isStarting = true
      threadNumber += 1
      let thread = Thread { [self, threadNumber] in run(threadNumber) }
      thread.name = "file-leases"
      start(thread)
    }
    let end = Date() + LeaseWatch.patience
    while isStarting, condition.wait(until: end) {}
    if isStarting {
      // The next lease has another one started.
      isStarting = false
      threadNumber += 1
      condition.broadcast()
    }
    return thread
  }

  private func wake() { if let thread { clinux_send_lease_signal(thread) } }

  private func endIfIdle() { if watched.isEmpty, taking == 0 { wake() } }

  private func run(_ threadNumber: Int) {
    let number = clinux_take_lease_signals()
    let isAwaited = condition.withLock {
      guard threadNumber == self.threadNumber else { return false }
      thread = number < 0 ? nil : number
      isStarting = false
      condition.broadcast()
      return true
    }
    guard isAwaited, number >= 0 else { return }
    while let (calls, pause) = due() {
      for call in calls { call() }
      clinux_await_lease_signal(pause)
    }
  }

  /// The calls that are due, and for how many nanoseconds none is, where no lease is broken; -1: for ever. nil where the thread
  /// has nothing to wait for, and ends.
  private func due() -> (calls: [@Sendable () -> Void], pause: Int64)? {
    condition.withLock { () -> (calls: [@Sendable () -> Void], pause: Int64)? in
      guard !watched.isEmpty || taking > 0 else {
        thread = nil
        return nil
      }
      let now = ContinuousClock.now
      var calls: [@Sendable () -> Void] = []
      for (id, item) in watched where item.isDue(at: now) {
        if let call = item.call { calls.append(call) }
        watched[id]?.call = nil
        watched[id]?.due = nil
      }
      guard let next = watched.values.compactMap(\.due).min() else { return (calls, -1) }
      return (calls, (max(0, Int64((next - now) / .milliseconds(1))) + 1) * 1_000_000)
    }
  }
}

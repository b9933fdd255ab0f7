import Foundation
import Synchronization

/// Runs calls that block (into C libraries, on the disk) on threads of its own, each with a time limit, so that neither an
/// event loop nor a thread of Swift's tasks waits for them.
///
/// A call that is past its limit keeps its thread until it returns; its caller does not wait for that. At most `width`
/// calls run at a time, so calls that never return do not use up the machine's threads: further calls wait, and pass
/// their limits waiting. A call whose caller has given up waits no longer.
package final class BlockingCalls: Sendable {
  /// The call did not return in time.
  package struct Expired: Error, Sendable, Equatable, CustomStringConvertible {
    package let limit: Duration
    package init(limit: Duration) { self.limit = limit }
    package var description: String { "no answer within \(limit)" }
  }

  private typealias Job = @Sendable () -> Void

  private struct State {
    var threads = 0
    var waiting: [(number: UInt64, job: Job)] = []
    var lastNumber: UInt64 = 0
  }

  private let name: String
  private let width: Int
  private let state = Mutex(State())

  /// - Parameter name: that of the threads, for debuggers, which show at most 15 bytes of it.
  package init(name: String, width: Int = 8) {
    self.name = name
    self.width = max(width, 1)
  }

  /// Runs `work` on a thread, and returns its result.
  ///
  /// - Parameter limit: from now on; the wait for a free thread counts.
  /// - Parameter cancel: asks the call to return early. Runs when the limit has passed or the task is cancelled, on any
  ///   thread, and must not block.
  /// - Throws: what `work` throws, ``Expired`` past the limit, `CancellationError`.
  package func run<Value: Sendable>(
    within limit: Duration, cancel: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = PendingResult<Value>()
    let number = submit {
      // A caller that has given up needs no call.
      if !result.isFinished { result.finish(Result { try work() }) }
    }
    let giveUp: @Sendable (any Error) -> Void = { [self] error in
      guard result.finish(.failure(error)) else { return }
      withdraw(number)
      cancel()
    }
    let timer = Task {
      try await Pause.wait(limit)
      giveUp(Expired(limit: limit))
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await result.value()
    } onCancel: {
      giveUp(CancellationError())
    }
  }

  /// The same without a limit, and without a caller that waits.
  package func start(_ work: @escaping @Sendable () -> Void) { _ = submit(work) }

  /// Returns the number of the call that waits; nil when it has a thread.
  private func submit(_ job: @escaping Job) -> UInt64? {
    let number = state.withLock { state -> UInt64? in
      guard state.threads < width else {
        state.lastNumber += 1
        state.waiting.append((state.lastNumber, job))
        return state.lastNumber
      }
      state.threads += 1
      return nil
    }
    guard number == nil else { return number }
    let thread = Thread { [name] in
      Thread.current.name = name
      var next: Job? = job
      while let current = next {
        current()
        next = self.nextJob()
      }
    }
    thread.stackSize = 1 << 20
    thread.start()
    return nil
  }

  /// Gives back at once all that the call holds, however long the calls before it take.
  private func withdraw(_ number: UInt64?) {
    guard let number else { return }
    let job = state.withLock { state -> Job? in
      guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
      return state.waiting.remove(at: index).job
    }
    // It ends here, outside of the lock: what it holds may end with it.
    withExtendedLifetime(job) {}
  }

  /// nil when the thread that asks has to end.
  private func nextJob() -> Job? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.threads -= 1
        return nil
      }
      return state.waiting.removeFirst().job
    }
  }
}

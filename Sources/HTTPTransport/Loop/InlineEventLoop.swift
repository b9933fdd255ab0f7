import DequeModule
import Dispatch
import Glibc
import NIOCore
import Synchronization

/// An event loop without a thread: the thread that gives it something runs it at once, one thing at a time. Things that
/// other threads give it meanwhile are run by that same thread afterwards, up to a number of them.
///
/// A load that may end without a socket begins on one: no other thread has to be woken for an answer that is in memory.
/// `move` makes it another name for an event loop with a thread; until then it is given nothing that blocks.
package final class InlineEventLoop: EventLoop {
  private struct State {
    var tasks: Deque<@Sendable () -> Void> = []
    /// A thread runs tasks.
    var isRunning = false
    /// Given by `move`; the running task is the last one here.
    var departure: (@Sendable () -> Void)?
    var hasMoved = false
  }

  /// The loop that it becomes another name for. Its timers run there in any case.
  package let host: any EventLoop
  private let state = Mutex(State())
  /// The thread that runs tasks; 0 for none.
  private let runner = Atomic<UInt>(0)
  private let isHost = Atomic<Bool>(false)

  package init(host: any EventLoop) { self.host = host }

  package var inEventLoop: Bool {
    runner.load(ordering: .relaxed) == InlineEventLoop.thread
      || (isHost.load(ordering: .acquiring) && host.inEventLoop)
  }

  private static var thread: UInt { UInt(pthread_self()) }

  package func execute(_ task: @escaping @Sendable () -> Void) {
    let mustRun = state.withLock { state in
      if state.hasMoved {
        // Under the lock: tasks that were given in order run in order.
        host.execute(task)
        return false
      }
      guard !state.isRunning else {
        state.tasks.append(task)
        return false
      }
      state.isRunning = true
      return true
    }
    if mustRun { run(task) }
  }

  /// Tasks in a row that one thread runs. Behind them another takes over: a caller is not kept by what others give.
  private static let batchSize = 64

  private enum Next {
    case task(@Sendable () -> Void)
    /// `host` has all that was left. Released without the lock: the last reference to a load may be among it.
    case departed([@Sendable () -> Void])
    case nothing
  }

  private func run(_ first: @escaping @Sendable () -> Void) {
    runner.store(InlineEventLoop.thread, ordering: .relaxed)
    var task = first
    for _ in 0..<InlineEventLoop.batchSize {
      task()
      guard case .task(let next) = next() else { return }
      task = next
    }
    runner.store(0, ordering: .relaxed)
    let rest = task
    BlockingWork.inlineLoads.run { self.run(rest) }
  }

  private func next() -> Next {
    state.withLock { state in
      if let departure = state.departure { return .departed(depart(&state, departure)) }
      if let next = state.tasks.popFirst() { return .task(next) }
      runner.store(0, ordering: .relaxed)
      state.isRunning = false
      return .nothing
    }
  }

  /// Makes this loop another name for `host` when the running task has returned. `action` then runs there, before
  /// everything that waits here. On the loop.
  package func move(_ action: @escaping @Sendable () -> Void) {
    assertInEventLoop()
    state.withLock { state in
      guard !state.hasMoved else { return host.execute(action) }
      let earlier = state.departure
      state.departure = {
        earlier?()
        action()
      }
    }
  }

  private func depart(_ state: inout State, _ action: @escaping @Sendable () -> Void) -> [@Sendable () -> Void] {
    let tasks = Array(state.tasks)
    (state.tasks, state.departure, state.hasMoved, state.isRunning) = ([], nil, true, false)
    // Before the first task runs there, which may be at once.
    runner.store(0, ordering: .relaxed)
    isHost.store(true, ordering: .releasing)
    host.execute(action)
    for task in tasks { host.execute(task) }
    return tasks + [action]
  }

  private final class Timer: Sendable {
    let isCancelled = Atomic<Bool>(false)
  }

  package func scheduleTask<Value>(
    deadline: NIODeadline, _ task: @escaping @Sendable () throws -> Value
  ) -> Scheduled<Value> {
    let promise = makePromise(of: Value.self)
    let timer = Timer()
    let hosted = host.scheduleTask(deadline: deadline) {
      self.execute {
        guard !timer.isCancelled.load(ordering: .relaxed) else { return }
        promise.assumeIsolated().completeWith(Result { try task() })
      }
    }
    return Scheduled(promise: promise) {
      timer.isCancelled.store(true, ordering: .relaxed)
      hosted.cancel()
    }
  }

  package func scheduleTask<Value>(
    in delay: TimeAmount, _ task: @escaping @Sendable () throws -> Value
  ) -> Scheduled<Value> {
    scheduleTask(deadline: .now() + delay, task)
  }

  /// Nothing is to be stopped.
  package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
    queue.async { callback(nil) }
  }
}

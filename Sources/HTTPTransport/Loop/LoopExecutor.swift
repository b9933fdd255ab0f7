import DequeModule
import Dispatch
import NIOCore
import NIOPosix

/// Runs Swift tasks on a NIO event loop, so that a load is straight-line `async` code without a thread hop.
///
/// Jobs that the loop itself makes ready (a chunk arrived, a head was parsed) are gathered and run together at the end
/// of the loop's turn: one entry in the loop's own queue for all of them. What the loads then want to tell other
/// threads is gathered in the same way, so that a hundred answers wake the threads of the app once, not a hundred times.
package final class LoopExecutor: TaskExecutor, @unchecked Sendable {
  package let loop: any EventLoop
  package let sweeper: DeadlineSweeper

  // Confined to the loop.
  private var jobs = Deque<Job>()
  private var completions: [Completion] = []
  private var wakes: [Completion] = []
  /// Those that run; empty in between, with the room that the last ones took.
  private var running: [Completion] = []
  private var isRunScheduled = false
  private var isRunningCompletions = false
  private var nextTurn: [() -> Void] = []

  private enum Job {
    case swift(UnownedJob)
    case action(() -> Void)
  }

  /// An action in a structure: an array of closures by themselves would keep each in a further block of the heap.
  private struct Completion {
    let action: () -> Void
  }

  /// Leads to the next turn of a loop with a thread: see `waitForTurn`.
  private static let yieldQueue = DispatchQueue(label: "url-loading.loop-yield")

  /// After so many jobs in a row the sockets get their turn.
  private static let batchSize = 256

  package init(loop: any EventLoop) {
    self.loop = loop
    sweeper = DeadlineSweeper(loop: loop)
  }

  /// An executor for one load, on the thread of its caller. It becomes another name for `host` when its loop moves.
  package convenience init(inlineBefore host: LoopExecutor) {
    self.init(loop: InlineEventLoop(host: host.loop), sweeper: host.sweeper)
  }

  private init(loop: any EventLoop, sweeper: DeadlineSweeper) {
    self.loop = loop
    self.sweeper = sweeper
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard loop.inEventLoop else {
      return loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
    jobs.append(.swift(job))
    scheduleRun()
  }

  /// Runs `action` among the jobs that are ready, in order, after what runs now. On the loop.
  package func schedule(_ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    jobs.append(.action(action))
    scheduleRun()
  }

  /// Runs `action` when the jobs that are ready now have run: for what tells other threads. On the loop.
  package func afterJobs(_ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    completions.append(Completion(action: action))
    if !isRunningCompletions { scheduleRun() }
  }

  /// Runs `action` behind all that is given to `afterJobs` in this turn: for what wakes a thread that takes what they have
  /// gathered. A thread that is woken before them may be done with the first one when the second one comes, and has to be
  /// woken again. On the loop.
  package func afterCompletions(_ action: @escaping () -> Void) {
    loop.assertInEventLoop()
    wakes.append(Completion(action: action))
    if !isRunningCompletions { scheduleRun() }
  }

  /// Returns when the loop has had time to look at its sockets. A flow that may go on for long without waiting for a
  /// socket, such as a writer whose peer takes everything as fast as it comes, awaits this now and then; else what other
  /// peers have sent would wait until all is written. On the loop.
  package func turn() async {
    loop.assertInEventLoop()
    await withUnsafeContinuation { continuation in
      nextTurn.append { continuation.resume() }
      scheduleRun()
    }
  }

  /// Runs `work` on this loop, and goes on where the caller is at home. A task of its own, since a preference that is
  /// changed for a while neither makes a function that follows its caller hop there nor brings it back.
  func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    await withUnsafeContinuation { continuation in
      Task(executorPreference: self) { continuation.resume(returning: await work()) }
    }
  }

  private func scheduleRun() {
    guard !isRunScheduled else { return }
    isRunScheduled = true
    loop.assumeIsolated().execute { self.run() }
  }

  private func run() {
    var count = 0
    while count < LoopExecutor.batchSize, let job = jobs.popFirst() {
      switch job {
      case .swift(let job): job.runSynchronously(on: asUnownedTaskExecutor())
      case .action(let action): action()
      }
      count += 1
    }
    let isFull = !jobs.isEmpty
    runCompletions()
    if isFull || !nextTurn.isEmpty {
      waitForTurn()
    } else if !jobs.isEmpty {
      // Made ready by a completion.
      loop.assumeIsolated().execute { self.run() }
    } else {
      isRunScheduled = false
    }
  }

  private func runCompletions() {
    // A completion may enqueue further completions, such as waking a queue that others of this turn fill as well.
    isRunningCompletions = true
    defer { isRunningCompletions = false }
    while true {
      if !completions.isEmpty {
        swap(&completions, &running)
      } else if !wakes.isEmpty {
        swap(&wakes, &running)
      } else {
        return
      }
      for completion in running { completion.action() }
      running.removeAll(keepingCapacity: true)
    }
  }

  /// The loop runs all that it is given before it looks at its sockets, and what it is given meanwhile as well. So what is
  /// left comes back by way of another thread, and nothing else is left to do here: then the loop looks.
  private func waitForTurn() {
    let loop = self.loop
    let begin = { @Sendable in loop.execute { self.beginTurn() } }
    // One without a thread runs the turn on the one that leads to it.
    if loop is InlineEventLoop {
      BlockingWork.inlineLoads.run(begin)
    } else {
      LoopExecutor.yieldQueue.async(execute: begin)
    }
  }

  private func beginTurn() {
    let waiting = nextTurn
    nextTurn = []
    for action in waiting { action() }
    run()
  }

  /// One executor for each loop of the process-wide group, in the group's order.
  package static let all: [LoopExecutor] = MultiThreadedEventLoopGroup.singleton.makeIterator().map {
    LoopExecutor(loop: $0)
  }

  /// Whether the caller is on one of these loops: a load that it waits for there may never end.
  package static var isOnLoop: Bool {
    guard let current = MultiThreadedEventLoopGroup.currentEventLoop else { return false }
    return all.contains { $0.loop === current }
  }
}

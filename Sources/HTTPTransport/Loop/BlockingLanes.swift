import DequeModule
import Dispatch
import NIOCore
import NIOPosix
import Synchronization

/// Threads for work that may block for very long, such as a question that no name server answers: one for each piece of
/// work, up to a limit. Beyond the limit work waits.
///
/// Work that has run for some seconds may never end and no longer counts against the limit, so that it holds up no other: what
/// waits gets another thread, up to a bound that is there for the machine's sake. A few threads stay for later work; of the others
/// each ends when it has had nothing to do for some seconds. The object lives as long as the process.
package final class BlockingLanes: Sendable {
  package typealias Work = @Sendable () -> Void

  /// A thread, and the work that it runs.
  private struct Assignment: Sendable {
    let lane: NIOThreadPool
    let number: Int
    let work: Work
  }

  /// A pool of one thread that has nothing to do.
  private struct Idle: Sendable {
    let lane: NIOThreadPool
    let since: NIODeadline
  }

  private struct State: Sendable {
    var limits: LaneLimits
    /// The one that has been idle for the longest first.
    var idle: [Idle] = []
    /// Whether the end of idle threads is scheduled.
    var isTrimScheduled = false
    var waiting = Deque<Work>()
    /// Whether a look at those that wait is scheduled.
    var isLookScheduled = false

    /// A thread for `work`, where it may have one.
    mutating func assign(_ work: @escaping Work, at now: NIODeadline) -> Assignment? {
      if let lane = idle.popLast()?.lane { return Assignment(lane: lane, number: limits.began(at: now), work: work) }
      guard limits.mayAddThread(at: now) else { return nil }
      let lane = NIOThreadPool(numberOfThreads: 1)
      return Assignment(lane: lane, number: limits.beganOnNewThread(at: now), work: work)
    }
  }

  private let state: Mutex<State>
  private let timers = DispatchQueue(label: "blocking-lanes.timers")
  private let kept: Int
  private let idleTime: TimeAmount

  /// - Parameter limit: of work that has just begun.
  /// - Parameter patience: How long work counts against the limit.
  /// - Parameter most: threads in all.
  /// - Parameter kept: Most threads that stay though they have nothing to do.
  /// - Parameter idleTime: How long others stay.
  package init(
    limit: Int, patience: TimeAmount = .seconds(3), most: Int = 256, kept: Int = 4, idleTime: TimeAmount = .seconds(10)
  ) {
    self.kept = max(kept, 0)
    self.idleTime = idleTime
    state = Mutex(State(limits: LaneLimits(limit: limit, patience: patience, most: most)))
  }

  /// How many threads there are, with those that are about to end.
  package var threadCount: Int { state.withLock { $0.limits.threads } }

  package func run(_ work: @escaping Work) {
    let now = NIODeadline.now()
    let assignment = state.withLock { state -> Assignment? in
      if let assignment = state.assign(work, at: now) { return assignment }
      state.waiting.append(work)
      return nil
    }
    if let assignment { start(assignment) } else { scheduleLook() }
  }

  private func start(_ assignment: Assignment) {
    let lane = assignment.lane
    // Does nothing where the thread runs already.
    lane.start()
    lane.submit { _ in
      var next: (number: Int, work: Work)? = (assignment.number, assignment.work)
      while let (number, work) = next {
        work()
        next = self.next(after: number, on: lane)
      }
    }
  }

  private func next(after number: Int, on lane: NIOThreadPool) -> (number: Int, work: Work)? {
    let now = NIODeadline.now()
    let next = state.withLock { state -> (number: Int, work: Work)? in
      state.limits.ended(number)
      guard let work = state.waiting.popFirst() else {
        state.idle.append(Idle(lane: lane, since: now))
        return nil
      }
      return (state.limits.began(at: now), work)
    }
    if next == nil { scheduleTrim() }
    return next
  }

  // MARK: Idle threads

  /// Has the threads end that are idle for too long. No timer runs where no thread is to end.
  private func scheduleTrim() {
    let now = NIODeadline.now()
    let delay = state.withLock { state -> TimeAmount? in
      guard !state.isTrimScheduled, state.idle.count > kept, let first = state.idle.first else { return nil }
      state.isTrimScheduled = true
      return first.since + idleTime - now
    }
    guard let delay else { return }
    timers.asyncAfter(deadline: .now() + .nanoseconds(Int(max(delay, .zero).nanoseconds))) {
      self.trim()
    }
  }

  private func trim() {
    let oldest = NIODeadline.now() - idleTime
    let surplus = state.withLock { state -> [Idle] in
      state.isTrimScheduled = false
      let surplus = state.idle.prefix(max(state.idle.count - kept, 0)).prefix { $0.since <= oldest }
      state.idle.removeFirst(surplus.count)
      return Array(surplus)
    }
    for idle in surplus {
      // Calls when the thread has ended.
      idle.lane.shutdownGracefully(queue: timers) { _ in self.threadEnded() }
    }
    scheduleTrim()
  }

  private func threadEnded() {
    state.withLock { $0.limits.threadEnded() }
    // Work that waits for the bound on threads has room now.
    look()
  }

  // MARK: Work that waits

  /// Has those that wait looked at when work under way no longer counts.
  private func scheduleLook() {
    let now = NIODeadline.now()
    let delay = state.withLock { state -> TimeAmount? in
      guard !state.isLookScheduled, !state.waiting.isEmpty, let time = state.limits.nextRoom(after: now) else {
        return nil
      }
      state.isLookScheduled = true
      return time - now
    }
    guard let delay else { return }
    timers.asyncAfter(deadline: .now() + .nanoseconds(Int(delay.nanoseconds))) { self.look() }
  }

  private func look() {
    let now = NIODeadline.now()
    let assignments = state.withLock { state -> [Assignment] in
      state.isLookScheduled = false
      var assignments: [Assignment] = []
      while let work = state.waiting.first, let assignment = state.assign(work, at: now) {
        state.waiting.removeFirst()
        assignments.append(assignment)
      }
      return assignments
    }
    for assignment in assignments { start(assignment) }
    scheduleLook()
  }
}

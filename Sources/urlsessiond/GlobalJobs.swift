import CLinux
import DequeModule
import Dispatch
import Synchronization

/// Runs the jobs of Swift's concurrency that no executor was given on serial queues of this process.
///
/// By default they run on Dispatch's global queues. With the first of these Dispatch begins to look every second whether the
/// threads of them wait, as long as the process lives, so that a service with nothing to do wakes the processor. Threads of
/// serial queues are not looked at. Nothing else in a program that rests may use a global or a concurrent queue, or sleep by other
/// means than `Pause`.
enum GlobalJobs {
  /// To be called first in a program, before anything is asynchronous.
  static func runOnOwnQueues() {
    clinux_take_global_jobs { job in if let job { JobLanes.shared.add(Job(reference: job)) } }
  }
}

/// A job that is run once.
private struct Job: @unchecked Sendable {
  // Sendable by hand: the runtime gives the job away, and any thread may run it.
  let reference: UnsafeMutableRawPointer

  func run() { clinux_run_job(reference) }
}

/// Queues that take the next job each when they have run one.
private final class JobLanes: Sendable {
  static let shared = JobLanes(count: 8)

  private struct State {
    var jobs: Deque<Job> = []
    var resting: [Int]
  }

  private let lanes: [DispatchQueue]
  private let state: Mutex<State>

  init(count: Int) {
    lanes = (0..<count).map { DispatchQueue(label: "global-jobs-\($0)") }
    state = Mutex(State(resting: Array(0..<count)))
  }

  func add(_ job: Job) {
    let lane = state.withLock { state in
      state.jobs.append(job)
      return state.resting.popLast()
    }
    guard let lane else { return }
    lanes[lane].async { self.runJobs(on: lane) }
  }

  private func runJobs(on lane: Int) {
    while let job = next(of: lane) { job.run() }
  }

  private func next(of lane: Int) -> Job? {
    state.withLock { state in
      if let job = state.jobs.popFirst() { return job }
      state.resting.append(lane)
      return nil
    }
  }
}

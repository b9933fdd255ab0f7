import Foundation
import Synchronization

/// Runs `async` code to its end on the thread that calls: for functions that by their nature answer at once. No thread
/// of Swift's pool is needed, so calling this from one of them can't lock the program up.
final class CallingThreadExecutor: TaskExecutor, @unchecked Sendable {
  private let condition = NSCondition()
  // Guarded by the condition.
  private var jobs: [UnownedJob] = []
  private var isOver = false

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.lock()
    jobs.append(job)
    condition.signal()
    condition.unlock()
  }

  static func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
    let executor = CallingThreadExecutor()
    let result = Mutex<Value?>(nil)
    Task(executorPreference: executor) { @concurrent in
      let value = await body()
      result.withLock { $0 = value }
      executor.end()
    }
    while true {
      executor.runJobs()
      // The task sets its value before it ends the run.
      if let value = result.withLock({ $0 }) { return value }
    }
  }

  private func end() {
    condition.lock()
    isOver = true
    condition.signal()
    condition.unlock()
  }

  private func runJobs() {
    condition.lock()
    while jobs.isEmpty, !isOver { condition.wait() }
    let ready = jobs
    jobs = []
    condition.unlock()
    for job in ready { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

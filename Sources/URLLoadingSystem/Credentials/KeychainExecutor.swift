import Dispatch

/// Runs the tasks that speak with the keychain on a queue of their own, since callers of synchronous methods block
/// their threads meanwhile, which may be all that Swift has for tasks.
final class KeychainExecutor: TaskExecutor {
  static let shared = KeychainExecutor()

  private let queue = DispatchQueue(label: "URLCredentialStorage keychain")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

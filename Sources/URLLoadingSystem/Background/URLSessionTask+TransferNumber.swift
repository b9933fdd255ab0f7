extension URLSessionTask {
  /// Tells the transfer service's number of a task of a background session, also once the task is over. Taken when the task
  /// was resumed; from any thread. The number is nil where the service has not taken the task, and for tasks of other sessions.
  package var transferNumber: @Sendable () async -> Int64? {
    guard let work = lockedState.withLock({ $0.work }) as? BackgroundWork else { return { nil } }
    return {
      await withCheckedContinuation { continuation in
        work.engine.onLoop { _ in continuation.resume(returning: work.state.transfer) }
      }
    }
  }
}

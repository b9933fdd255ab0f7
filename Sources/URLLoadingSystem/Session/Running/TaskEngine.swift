import Foundation

/// The object in which the tasks of a session do their work: in this process, or in the transfer daemon. One for each
/// session.
protocol TaskEngine: AnyObject, Sendable {
  /// A factory made `task`, still suspended.
  func created(_ task: URLSessionTask)
  /// The first `resume()` of `task`: makes its work, which `begin` then starts. The work ends with `task.finish`.
  func makeWork(for task: URLSessionTask, from start: TaskStart) -> any TaskWork
  /// `task` was cancelled before its first `resume()`. The session reports its end itself.
  func abandoned(_ task: URLSessionTask)
  /// Closes what is kept open between tasks, so that later tasks open it anew, and calls `completion` when everything
  /// handed over so far is safe.
  func flush(_ completion: @escaping @Sendable () -> Void)
  /// Forgets what servers have told of themselves for later.
  func forgetServers()
  /// The session is gone, or its tasks have all ended and there will be no others.
  func shutDown()
  /// The session was invalidated and its last task has ended.
  func invalidated()
  /// The session exists now. Called once, before anything else.
  func adopt(_ session: URLSession)
  /// The identifier of a new task; nil when the session counts by itself. Does not wait.
  func reserveTaskIdentifier() -> Int?
  /// Runs `action` once the tasks of earlier processes are known.
  func whenReady(_ action: @escaping @Sendable () -> Void)
}

extension TaskEngine {
  func created(_ task: URLSessionTask) {}
  func abandoned(_ task: URLSessionTask) {}
  func invalidated() { shutDown() }
  func forgetServers() {}
  func adopt(_ session: URLSession) {}
  func reserveTaskIdentifier() -> Int? { nil }
  func whenReady(_ action: @escaping @Sendable () -> Void) { action() }
}

/// The work of one started task, steered from any thread.
protocol TaskWork: AnyObject, Sendable {
  func begin(_ task: URLSessionTask)
  /// `task.isSuspended` changed. Calls may come late or out of order: what counts is the state when acting on it.
  func suspensionChanged(of task: URLSessionTask)
  /// The task's priority or description changed; what counts is what they are when acting on it.
  func hintsChanged(of task: URLSessionTask)
  func cancel(_ task: URLSessionTask)
}

import Foundation
import Synchronization

/// The tasks of a session and what became of the session itself.
///
/// A task that was never resumed belongs to the app, and the registry only knows of it; from its first `resume()` until
/// its end was reported the registry keeps it alive. Once the session is invalidated it takes no further tasks, and
/// when the last one is gone it says, once, that the session's end may be announced.
final class TaskRegistry: Sendable {
  private enum Life { case open, invalidated, announced }

  private struct WeakTask { weak var task: URLSessionTask? }

  private struct State {
    var life = Life.open
    var resumed: [Int: URLSessionTask] = [:]
    var unresumed: [Int: WeakTask] = [:]

    /// Returns whether the task was known. Mostly none is: tasks of calls are resumed at once.
    @discardableResult mutating func removeUnresumed(_ identifier: Int) -> Bool {
      !unresumed.isEmpty && unresumed.removeValue(forKey: identifier) != nil
    }

    mutating func mayAnnounce() -> Bool {
      guard case .invalidated = life, resumed.isEmpty, unresumed.isEmpty else { return false }
      life = .announced
      return true
    }
  }

  private let lastIdentifier = Atomic<Int>(0)
  private let state = Mutex(State())

  func nextIdentifier() -> Int { lastIdentifier.add(1, ordering: .relaxed).newValue }

  /// Takes note of a task that a factory made.
  func add(_ task: URLSessionTask) {
    state.withLock { state in
      guard case .open = state.life else { return }
      state.unresumed[task.taskIdentifier] = WeakTask(task: task)
    }
  }

  /// Keeps `task` until `forget`. False when the task was made after the session had been invalidated: it must fail.
  func hold(_ task: URLSessionTask) -> Bool {
    state.withLock { state in
      let isKnown = state.removeUnresumed(task.taskIdentifier)
      switch state.life {
      case .open, .invalidated: state.resumed[task.taskIdentifier] = task
      case .announced: return false
      }
      if case .open = state.life { return true }
      return isKnown
    }
  }

  /// Keeps a task that an earlier process made. False, and nothing is kept, once the session is invalidated.
  func restore(_ task: URLSessionTask) -> Bool {
    state.withLock { state in
      guard case .open = state.life else { return false }
      state.resumed[task.taskIdentifier] = task
      return true
    }
  }

  /// Returns whether the session's end must be announced now.
  func forget(_ identifier: Int) -> Bool {
    let (task, mustAnnounce) = state.withLock { state in
      state.removeUnresumed(identifier)
      let task = state.resumed.removeValue(forKey: identifier)
      return (task, state.mayAnnounce())
    }
    // Released here, after the lock: it may have been the last reference.
    _ = task
    return mustAnnounce
  }

  /// Returns whether the session's end must be announced now.
  func invalidate() -> Bool {
    state.withLock { state in
      guard case .open = state.life else { return false }
      state.life = .invalidated
      return state.mayAnnounce()
    }
  }

  /// The tasks that have not ended, oldest first.
  func outstanding() -> [URLSessionTask] {
    let tasks = state.withLock { state in
      Array(state.resumed.values) + state.unresumed.values.compactMap(\.task)
    }
    return tasks.filter { $0.presentState != .completed }.sorted { $0.taskIdentifier < $1.taskIdentifier }
  }

  /// The tasks that were resumed and may still bring something, oldest first.
  func going() -> [URLSessionTask] {
    let tasks = state.withLock { Array($0.resumed.values) }
    return tasks.filter { $0.presentState != .completed && $0.presentState != .canceling }
      .sorted { $0.taskIdentifier < $1.taskIdentifier }
  }
}

import Dispatch
import Foundation

/// The engine's timers, one for each key. Confined to the engine's queue, where they fire.
final class EngineTimers {
  enum Key: Hashable {
    /// The scheduler's next delay ends.
    case schedule
    case idle
    /// There has been nothing to do for a moment.
    case rest
    /// Why transfers wait is looked at again.
    case reasons
    /// The queue is copied.
    case copy
    case network
    /// The time of a transfer that waits is over.
    case deadline
    /// Times that stand still or go on are written again.
    case times
    /// The service's folders and its queue are tried again.
    case storage
    /// A transfer's end is written again.
    case end(TransferID)
    /// A session's events are read again.
    case delivery(SessionID)
    case launch(SessionID)
    case launchPatience(SessionID)
    /// Files are removed that could not be.
    case removal
    /// Removals have kept the service from ending for long enough.
    case lastRemovals
    /// Things of absent apps and old remains are looked for.
    case upkeep
    /// A transfer waits long for the answer to this question.
    case question(UInt64)
  }

  private let queue: DispatchQueue
  private var timers: [Key: DispatchWorkItem] = [:]

  init(queue: DispatchQueue) { self.queue = queue }

  var isEmpty: Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    return timers.isEmpty
  }

  func isSet(_ key: Key) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    return timers[key] != nil
  }

  /// Replaces the timer with that key.
  func set(_ key: Key, in seconds: TimeInterval, _ fire: @escaping () -> Void) {
    cancel(key)
    // A work item that was cancelled on its queue before it began does not run.
    let timer = DispatchWorkItem { [weak self] in
      self?.timers[key] = nil
      fire()
    }
    timers[key] = timer
    queue.asyncAfter(deadline: .now() + max(0, seconds), execute: timer)
  }

  func cancel(_ key: Key) {
    dispatchPrecondition(condition: .onQueue(queue))
    timers.removeValue(forKey: key)?.cancel()
  }

  func cancelAll() {
    dispatchPrecondition(condition: .onQueue(queue))
    for key in timers.keys { cancel(key) }
  }
}

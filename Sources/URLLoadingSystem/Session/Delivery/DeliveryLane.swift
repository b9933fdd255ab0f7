import DequeModule
import Foundation
import HTTPTransport
import Synchronization

/// An ordered mailbox in front of the place where calls run: mostly an operation queue.
///
/// Events run there one after the other in the order they were appended, also when the queue is concurrent.
/// One operation runs all the events it finds, so that a thousand chunks do not cost a thousand operations. It queues
/// itself again as soon as another operation waits: what an app puts into a serial queue and then starts a task for runs
/// before the task's first event, as if each event were an operation of its own. So it does when the app has suspended the queue.
///
/// A session whose queue is serial has one lane; with a concurrent queue each task has its own.
final class DeliveryLane: Sendable {
  typealias Event = @Sendable () -> Void

  /// An event in a structure: a queue of closures by themselves would keep each in a further block of the heap.
  private struct Entry {
    let event: Event
  }

  private struct State {
    var mailbox: Deque<Entry> = []
    /// An operation is queued or running.
    var isScheduled = false
  }

  private static let batchSize = 64

  private let target: any DeliveryTarget
  /// Whether every other operation of the target is the app's.
  private let isAlone: Bool
  private let state = Mutex(State())

  init(to target: any DeliveryTarget, isAlone: Bool = false) {
    self.target = target
    self.isAlone = isAlone
  }

  /// - Parameter loop: The loop this is called on, if it is one: the target is then woken once for all that the loop's
  ///   loads append in one turn.
  func append(_ event: @escaping Event, from loop: LoopExecutor? = nil) {
    let mustSchedule = state.withLock { state in
      state.mailbox.append(Entry(event: event))
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    guard mustSchedule else { return }
    if let loop { loop.afterCompletions { self.schedule() } } else { schedule() }
  }

  private func schedule() {
    target.run { [self] in drain() }
  }

  private func drain() {
    for count in 0..<Self.batchSize {
      let next = state.withLock { state in
        let next = state.mailbox.popFirst()
        if next == nil { state.isScheduled = false }
        return next
      }
      guard let next else { return }
      // Asked between two events only: an operation queue answers under its lock, for which others wait.
      if count > 0, target.isSuspended || (isAlone && target.hasOtherWork) {
        state.withLock { $0.mailbox.prepend(next) }
        break
      }
      next.event()
    }
    schedule()
  }
}

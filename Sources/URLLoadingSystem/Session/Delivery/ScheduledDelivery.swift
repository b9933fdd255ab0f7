import Dispatch
import Foundation
import Synchronization

/// The place where the delegate calls of one connection run, as its app schedules it: on run loops in some of their modes, or on
/// an operation queue.
///
/// With several run loops each call runs on the one that comes to it first. Calls that nothing is scheduled for wait.
/// Once the connection is over what is left runs on a dispatch queue: it only ends the library's own work.
final class ScheduledDelivery: DeliveryTarget {
  private enum Place {
    case runLoops([RunLoopInput])
    case queue(OperationQueue)
    case closed
  }

  private struct State {
    var place = Place.runLoops([])
    /// The block that the run loops have not come to yet.
    var waiting: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  deinit { close() }

  var hasOtherWork: Bool { false }

  var isSuspended: Bool {
    let place = state.withLock { $0.place }
    return if case .queue(let queue) = place { queue.isSuspended } else { false }
  }

  /// Whether the app has said where.
  var isScheduled: Bool {
    state.withLock { state in
      if case .runLoops(let inputs) = state.place { !inputs.isEmpty } else { true }
    }
  }

  // MARK: Scheduling

  /// Takes the place of an operation queue.
  func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    let input = RunLoopInput.of(loop, mode)
    let isNew = state.withLock { state in
      var inputs: [RunLoopInput] = []
      switch state.place {
      case .runLoops(let present): inputs = present
      case .queue: break
      case .closed: return false
      }
      guard !inputs.contains(where: { $0 === input }) else { return false }
      state.place = .runLoops(inputs + [input])
      return true
    }
    guard isNew else { return }
    input.enter(self)
    if state.withLock({ $0.waiting != nil }) { input.run(self) }
  }

  func unschedule(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    let left = state.withLock { state -> RunLoopInput? in
      guard case .runLoops(let inputs) = state.place, let left = inputs.first(where: { $0.isOf(loop, mode) }) else {
        return nil
      }
      state.place = .runLoops(inputs.filter { $0 !== left })
      return left
    }
    left?.leave(self)
  }

  /// Takes the place of all run loops; nil gives it back.
  func use(_ queue: OperationQueue?) {
    let left = move(to: queue.map { .queue($0) } ?? .runLoops([]), unless: queue == nil)
    for input in left { input.leave(self) }
    if let queue, let block = takeWaiting() { queue.addDelivery(block) }
  }

  /// The connection is over.
  func close() {
    let left = move(to: .closed)
    for input in left { input.leave(self) }
    if let block = takeWaiting() { DispatchQueue.global().async(execute: block) }
  }

  /// - Parameter keepsRunLoops: Nothing is moved where run loops are in place.
  /// - Returns: The inputs that were in place.
  private func move(to place: Place, unless keepsRunLoops: Bool = false) -> [RunLoopInput] {
    state.withLock { state in
      switch state.place {
      case .closed: return []
      case .queue:
        state.place = place
        return []
      case .runLoops(let inputs):
        if keepsRunLoops { return [] }
        state.place = place
        return inputs
      }
    }
  }

  // MARK: Running

  func run(_ block: @escaping @Sendable () -> Void) {
    let place = state.withLock { state in
      if case .runLoops = state.place { state.waiting = block }
      return state.place
    }
    switch place {
    case .runLoops(let inputs): for input in inputs { input.run(self) }
    case .queue(let queue): queue.addDelivery(block)
    case .closed: DispatchQueue.global().async(execute: block)
    }
  }

  /// On the thread of a run loop, which the connection may have left since. Another one may have been first.
  func runWaiting(of input: RunLoopInput) {
    let block = state.withLock { state -> (@Sendable () -> Void)? in
      guard case .runLoops(let inputs) = state.place, inputs.contains(where: { $0 === input }) else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    block?()
  }

  private func takeWaiting() -> (@Sendable () -> Void)? {
    state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
  }
}

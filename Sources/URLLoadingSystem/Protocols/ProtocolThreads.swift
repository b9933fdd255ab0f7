import DequeModule
import Dispatch
import Synchronization

/// The threads on which custom protocols are asked, made, started and stopped.
///
/// Any free thread takes the next start. All that follows for the same load is done on the thread that took it. As long as
/// threads come free there is one; a start that no thread takes for some milliseconds, because code of apps blocks all of
/// them, gets a new one. So a protocol that waits for a load of another protocol finds one that serves it.
final class ProtocolThreads: Sendable {
  static let shared = ProtocolThreads(limit: 64)

  typealias Start = @Sendable (ProtocolThread) -> Void

  private struct State {
    var starts = Deque<Start>()
    var count = 0
    /// The threads that wait for work. The one that has waited for the shortest time stands last, and is woken first.
    var free: [ProtocolThread] = []
    /// How many starts were taken.
    var taken = 0
    /// How many had been taken when the check was arranged that is due; nil while none is.
    var takenBeforeCheck: Int?

    mutating func remove(_ thread: ProtocolThread) {
      if let index = free.lastIndex(where: { $0 === thread }) { free.remove(at: index) }
    }
  }

  private let state = Mutex(State())
  private let limit: Int
  private static let patience = DispatchTimeInterval.milliseconds(5)

  init(limit: Int) { self.limit = limit }

  /// Runs `start` on the next thread that is free.
  func start(_ start: @escaping Start) { serve { $0.starts.append(start) } }

  /// The start that `thread` is to run now; nil, and the thread counts as free, when none is left.
  func next(for thread: ProtocolThread) -> Start? {
    state.withLock { state in
      if let start = state.starts.popFirst() {
        state.taken += 1
        return start
      }
      state.free.append(thread)
      return nil
    }
  }

  /// `thread` was woken.
  ///
  /// - Parameter isBusy: Whether it has other work first. A start for which it was woken may then go to another thread.
  /// - Returns: The start that it is to run at once, before anything that may block.
  func leaveFree(_ thread: ProtocolThread, isBusy: Bool) -> Start? {
    if isBusy {
      serve { $0.remove(thread) }
      return nil
    }
    return state.withLock { state in
      state.remove(thread)
      let start = state.starts.popFirst()
      if start != nil { state.taken += 1 }
      return start
    }
  }

  private enum Step {
    case nothing
    case wake(ProtocolThread)
    case spawn
    case check
  }

  private func serve(after change: (inout State) -> Void) {
    let step = state.withLock { state in
      change(&state)
      guard !state.starts.isEmpty else { return Step.nothing }
      if let thread = state.free.popLast() { return .wake(thread) }
      if state.count == 0 {
        state.count = 1
        return .spawn
      }
      guard state.takenBeforeCheck == nil else { return .nothing }
      state.takenBeforeCheck = state.taken
      return .check
    }
    perform(step)
  }

  private func perform(_ step: Step) {
    switch step {
    case .nothing: break
    case .wake(let thread): thread.wake()
    case .spawn: ProtocolThread(of: self).run()
    case .check: DispatchQueue.global().asyncAfter(deadline: .now() + ProtocolThreads.patience) { self.check() }
    }
  }

  /// All threads were busy a moment ago.
  private func check() {
    let (step, isMoreDue) = state.withLock { state -> (Step, Bool) in
      let before = state.takenBeforeCheck
      state.takenBeforeCheck = nil
      guard !state.starts.isEmpty else { return (.nothing, false) }
      if let thread = state.free.popLast() { return (.wake(thread), false) }
      let isStuck = before == state.taken
      guard !isStuck || state.count < limit else { return (.nothing, false) }
      state.takenBeforeCheck = state.taken
      guard isStuck else { return (.nothing, true) }
      state.count += 1
      return (.spawn, true)
    }
    perform(step)
    if isMoreDue { perform(.check) }
  }
}

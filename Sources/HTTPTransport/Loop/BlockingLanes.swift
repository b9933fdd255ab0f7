import DequeModule
import NIOPosix
import Synchronization

/// Threads for work that may block for very long, such as a question that no name server answers: one for each piece of
/// work, up to a limit, so that work that hangs holds up no other. Beyond the limit work waits. Threads that were made
/// stay for later work; the object lives as long as the process.
package final class BlockingLanes: Sendable {
  package typealias Work = @Sendable () -> Void

  private struct State: Sendable {
    /// Pools of one thread each that have nothing to do.
    var idle: [NIOThreadPool] = []
    var count = 0
    var waiting = Deque<Work>()
  }

  private let limit: Int
  private let state = Mutex(State())

  package init(limit: Int) { self.limit = limit }

  package func run(_ work: @escaping Work) {
    let lane = state.withLock { state -> NIOThreadPool? in
      if let lane = state.idle.popLast() { return lane }
      guard state.count < limit else {
        state.waiting.append(work)
        return nil
      }
      state.count += 1
      return NIOThreadPool(numberOfThreads: 1)
    }
    guard let lane else { return }
    // Does nothing where the thread runs already.
    lane.start()
    lane.submit { _ in
      work()
      while let next = self.next(for: lane) { next() }
    }
  }

  private func next(for lane: NIOThreadPool) -> Work? {
    state.withLock { state in
      if let work = state.waiting.popFirst() { return work }
      state.idle.append(lane)
      return nil
    }
  }
}

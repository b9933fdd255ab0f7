import DequeModule
import Foundation
import Synchronization

/// The operations that an app has asked of a stream task and that the task has not begun. Added on any thread, taken on the event loop.
final class StreamOperations: Sendable {
  private struct State {
    var lane: DeliveryLane?
    var added = Deque<StreamOperation>()
    var wake: (@Sendable () -> Void)?
    var end: (any Error)?
  }

  private let state = Mutex(State())

  func use(_ lane: DeliveryLane) { state.withLock { $0.lane = lane } }

  var lane: DeliveryLane? { state.withLock { $0.lane } }

  func add(_ operation: StreamOperation) {
    let (wake, end) = state.withLock { state in
      if state.end == nil { state.added.append(operation) }
      return (state.wake, state.end)
    }
    if let end { fail(operation, end) } else { wake?() }
  }

  /// `wake` is called, on any thread, when there is something new.
  func open(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  func takeNew() -> Deque<StreamOperation> {
    state.withLock { state in
      defer { state.added = [] }
      return state.added
    }
  }

  /// Returns an operation that will not be begun: the end fails it.
  func put(back operation: StreamOperation) {
    let end = state.withLock { state in
      if state.end == nil { state.added.append(operation) }
      return state.end
    }
    if let end { fail(operation, end) }
  }

  /// Nothing can be done any more: what waits fails with `error`, and so does what comes later.
  func end(_ error: any Error) {
    let failed = state.withLock { state -> Deque<StreamOperation> in
      guard state.end == nil else { return [] }
      state.end = error
      state.wake = nil
      defer { state.added = [] }
      return state.added
    }
    for operation in failed { fail(operation, error) }
  }

  func fail(_ operation: StreamOperation, _ error: any Error) {
    switch operation {
    case .read(_, _, _, let waiter): waiter.answer(.failure(error), on: lane)
    case .write(_, _, let waiter): waiter.answer(.failure(error), on: lane)
    case .closeRead, .closeWrite, .startSecureConnection, .captureStreams: break
    }
  }
}

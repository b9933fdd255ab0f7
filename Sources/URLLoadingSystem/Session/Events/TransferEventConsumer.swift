import DequeModule
import Synchronization

/// The events that one consumer has not taken yet: for each task one place, in the order in which the tasks first had
/// something to tell. Usable from any thread.
final class TransferEventConsumer: Sendable {
  /// The news of a task, the earliest first. A newer state or count takes the place of an earlier one.
  private struct Place {
    let task: URLSessionTask
    var isCreated = false
    var state: URLSession.TransferEvent.Kind?
    var progress: URLSession.TransferEvent.ByteCounts?
    var end: URLSession.TransferEvent.Kind?

    mutating func add(_ kind: URLSession.TransferEvent.Kind) {
      switch kind {
      case .created: isCreated = true
      case .running, .waiting: state = kind
      case .progress(let counts): progress = counts
      case .finished, .failed: end = kind
      }
    }

    /// nil when nothing is left.
    mutating func take() -> URLSession.TransferEvent.Kind? {
      if isCreated {
        isCreated = false
        return .created
      }
      if let kind = state {
        state = nil
        return kind
      }
      if let counts = progress {
        progress = nil
        return .progress(counts)
      }
      defer { end = nil }
      return end
    }

    var isEmpty: Bool { !isCreated && state == nil && progress == nil && end == nil }
  }

  private typealias Waiter = (id: UInt64, continuation: CheckedContinuation<URLSession.TransferEvent?, Never>)

  private struct State {
    var places: [Int: Place] = [:]
    /// The tasks with a place.
    var order: Deque<Int> = []
    var waiters: [Waiter] = []
    var lastWaiter: UInt64 = 0
    var isFinished = false

    mutating func next() -> URLSession.TransferEvent? {
      guard let task = order.first, var place = places[task], let kind = place.take() else { return nil }
      if place.isEmpty {
        order.removeFirst()
        places[task] = nil
      } else {
        places[task] = place
      }
      return URLSession.TransferEvent(task: place.task, kind: kind)
    }
  }

  private let state = Mutex(State())
  private weak let hub: TransferEventHub?

  init(hub: TransferEventHub) { self.hub = hub }

  deinit { hub?.forget(ObjectIdentifier(self)) }

  func add(_ kind: URLSession.TransferEvent.Kind, of task: URLSessionTask) {
    let delivery = state.withLock { state -> (Waiter, URLSession.TransferEvent)? in
      guard !state.isFinished else { return nil }
      let identifier = task.taskIdentifier
      if state.places[identifier] == nil {
        state.places[identifier] = Place(task: task)
        state.order.append(identifier)
      }
      state.places[identifier]?.add(kind)
      guard let waiter = state.waiters.first, let event = state.next() else { return nil }
      state.waiters.removeFirst()
      return (waiter, event)
    }
    if let (waiter, event) = delivery { waiter.continuation.resume(returning: event) }
  }

  /// Events that were not taken stay to be taken.
  func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(returning: nil) }
  }

  func next() async -> URLSession.TransferEvent? {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> URLSession.TransferEvent?? in
          if let event = state.next() { return event }
          // A cancellation after this look finds the waiter.
          if state.isFinished || Task.isCancelled { return .some(nil) }
          state.waiters.append((id, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiters.remove(at: index)
      }
      waiter?.continuation.resume(returning: nil)
    }
  }
}

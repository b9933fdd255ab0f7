import Synchronization

/// Gives the events of a session's tasks to their consumers. Usable from any thread.
final class TransferEventHub: Sendable {
  private struct WeakConsumer { weak var consumer: TransferEventConsumer? }

  private struct State {
    var consumers: [ObjectIdentifier: WeakConsumer] = [:]
    var isFinished = false
  }

  private let state = Mutex(State())
  private let count = Atomic<Int>(0)

  deinit { finish() }

  /// A look that costs no lock: most sessions have none.
  var hasConsumers: Bool { count.load(ordering: .acquiring) > 0 }

  func makeConsumer() -> TransferEventConsumer {
    let consumer = TransferEventConsumer(hub: self)
    let isFinished = state.withLock { state in
      guard !state.isFinished else { return true }
      state.consumers[ObjectIdentifier(consumer)] = WeakConsumer(consumer: consumer)
      count.store(state.consumers.count, ordering: .releasing)
      return false
    }
    if isFinished { consumer.finish() }
    return consumer
  }

  func forget(_ consumer: ObjectIdentifier) {
    state.withLock { state in
      state.consumers[consumer] = nil
      count.store(state.consumers.count, ordering: .releasing)
    }
  }

  func send(_ kind: URLSession.TransferEvent.Kind, of task: URLSessionTask) {
    guard hasConsumers else { return }
    for consumer in all() { consumer.add(kind, of: task) }
  }

  /// There will be no events any more.
  func finish() {
    state.withLock { $0.isFinished = true }
    for consumer in all() { consumer.finish() }
  }

  /// Held here, outside the lock: releasing the last reference of a consumer takes the lock.
  private func all() -> [TransferEventConsumer] {
    state.withLock { $0.consumers.values.compactMap(\.consumer) }
  }
}

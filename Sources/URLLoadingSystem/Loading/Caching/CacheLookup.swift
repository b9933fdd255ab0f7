import HTTPTransport

/// The wait of a load for what the disk holds. Confined to the load's event loop.
final class CacheLookup: PendingStep, @unchecked Sendable {
  private let executor: LoopExecutor
  private let decide: ([CacheItem]) -> LoadStep
  private var items: [CacheItem]?
  private var isAborted = false
  private var action: (() -> Void)?

  /// - Parameter decide: The step that follows from what is found. Called once.
  init(_ disk: DiskCache, _ key: CacheKey, on executor: LoopExecutor, _ decide: @escaping ([CacheItem]) -> LoadStep) {
    self.executor = executor
    self.decide = decide
    executor.loop.assertInEventLoop()
    disk.queue.async {
      let items = disk.items(for: key)
      executor.loop.execute { self.settle(items) }
    }
  }

  private func settle(_ items: [CacheItem]) {
    executor.loop.assertInEventLoop()
    self.items = items
    if let action { executor.schedule(action) }
    action = nil
  }

  func whenReady(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    if items != nil || isAborted { executor.schedule(action) } else { self.action = action }
  }

  func step() -> LoadStep {
    executor.loop.assertInEventLoop()
    // An aborted load ends before its next stage.
    guard !isAborted else { return .proceed }
    return items.map { decide($0) } ?? .pending(self)
  }

  func abort(_ error: any Error) {
    executor.loop.assertInEventLoop()
    isAborted = true
    if let action { executor.schedule(action) }
    action = nil
  }
}

import HTTPTransport

/// The wait of an attempt for its exchange. Confined to the load's loop.
///
/// Not one with `ConnectionWaiter`, which settles on the pool's loop, and so has to tell an exchange that comes too late
/// from one that is wanted; nor a `LoopResult`, which resumes a Swift task: a load that waits here has none yet.
final class ExchangeWait: Abortable, @unchecked Sendable {
  private let waiter: ConnectionWaiter
  private let executor: LoopExecutor
  private var result: Result<any HTTPExchange, any Error>?
  private var action: (() -> Void)?

  init(_ waiter: ConnectionWaiter, on executor: LoopExecutor) {
    self.waiter = waiter
    self.executor = executor
  }

  var unfinished: ConnectionRecord? { waiter.unfinished }

  /// Whether the exchange is on a connection that was made for another origin.
  var isCoalesced: Bool { waiter.isCoalesced }

  func start() {
    executor.loop.assertInEventLoop()
    waiter.start { self.settle($0) }
  }

  private func settle(_ result: Result<any HTTPExchange, any Error>) {
    self.result = result
    if let action { executor.schedule(action) }
    action = nil
  }

  func whenReady(_ action: @escaping () -> Void) {
    executor.loop.assertInEventLoop()
    if result == nil { self.action = action } else { executor.schedule(action) }
  }

  /// The exchange that came. Called once.
  func exchange() throws -> any HTTPExchange {
    executor.loop.assertInEventLoop()
    guard let result else { throw TransportError.shutDown }
    return try result.get()
  }

  func abort(_ error: any Error) { waiter.abort(error) }
}

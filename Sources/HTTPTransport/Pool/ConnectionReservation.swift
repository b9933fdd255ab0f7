import NIOCore
import Synchronization

/// A connection that serves one conversation alone, such as the requests by which NTLM or Negotiate authenticate it.
///
/// Made by `HTTPExchange.reserveConnection()`. The next request of the conversation gets its exchange here, after the one
/// before it has ended; `release(as:)` ends the conversation. Used on one loop, which need not be the connection's.
package final class ConnectionReservation: Sendable {
  private let pool: HTTPConnectionPool
  private let id: HTTPConnectionPool.StateMachine.ConnectionID
  private let isReleased = Mutex(false)

  init(pool: HTTPConnectionPool, id: HTTPConnectionPool.StateMachine.ConnectionID) {
    self.pool = pool
    self.id = id
  }

  /// Starts the next exchange of the conversation. `completion` is called once on the loop of `caller`, with nil when the
  /// connection is gone: the conversation must begin again on another one.
  package func exchange(
    for caller: LoopExecutor, _ completion: @escaping @Sendable ((any HTTPExchange)?) -> Void
  ) {
    caller.loop.assertInEventLoop()
    guard pool.executor !== caller else { return completion(pool.reservedExchange(id)) }
    pool.executor.loop.execute { [pool, id] in
      let exchange = pool.reservedExchange(id).map { RemoteExchange($0, executor: pool.executor, home: caller) }
      caller.loop.execute { completion(exchange) }
    }
  }

  /// Ends the conversation. The connection serves requests of `identity` from now on; nil leaves its identity as it was.
  /// Only the first call has an effect.
  package func release(as identity: ConnectionIdentity? = nil) {
    let wasReleased = isReleased.withLock { isReleased in
      defer { isReleased = true }
      return isReleased
    }
    guard !wasReleased else { return }
    if pool.executor.loop.inEventLoop { return pool.endReservation(id, as: identity) }
    pool.executor.loop.execute { [pool, id] in pool.endReservation(id, as: identity) }
  }

  deinit { release() }
}

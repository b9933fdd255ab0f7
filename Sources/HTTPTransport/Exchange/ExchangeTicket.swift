import NIOCore

/// One load's request for a connection, abortable while it waits.
///
/// A load runs on the loop of its first host. After a redirect to a host of another loop it stays where it is, and
/// the exchange is reached through `RemoteExchange`.
package final class ExchangeTicket: @unchecked Sendable {
  private let pool: HTTPConnectionPool
  private let key: ConnectionKey
  private let caller: LoopExecutor
  private let handshake: (any HandshakeClient)?
  private let changesProtocol: Bool

  // Confined to the pool's loop.
  private var priority: Float
  private var pending: PendingLease?
  private var abortError: (any Error)?

  /// Once `exchange()` has thrown: how far the connection got that was not made; nil when none was being made.
  package private(set) var unfinished: ConnectionRecord?

  init(
    pool: HTTPConnectionPool, key: ConnectionKey, priority: Float, caller: LoopExecutor,
    handshake: (any HandshakeClient)?, changesProtocol: Bool
  ) {
    self.pool = pool
    self.key = key
    self.priority = priority
    self.caller = caller
    self.handshake = handshake
    self.changesProtocol = changesProtocol
  }

  /// An exchange on an idle connection, a new one, or the first that becomes free.
  package func exchange() async throws -> any HTTPExchange {
    guard pool.executor !== caller else { return try await exchangeOnPoolLoop() }
    let outcome = await pool.executor.run { () -> Result<any HTTPExchange, any Error> in
      do {
        return .success(
          RemoteExchange(try await self.exchangeOnPoolLoop(), executor: self.pool.executor, home: self.caller))
      } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  private func exchangeOnPoolLoop() async throws -> any HTTPExchange {
    if let abortError { throw abortError }
    if changesProtocol, !pool.mayChangeProtocol(key) { throw TransportError.requiresHTTP1 }
    if let exchange = pool.idleExchange(for: key) { return exchange }
    let pending = pool.lease(for: key, priority: priority, handshake: handshake, changesProtocol: changesProtocol)
    self.pending = pending
    defer {
      self.pending = nil
      unfinished = pending.unfinished
    }
    return try await pending.exchange()
  }

  /// Leaves the queue; `exchange()` throws `error`.
  package func abort(_ error: any Error) {
    if pool.executor === caller { return abortOnPoolLoop(error) }
    pool.executor.loop.execute { self.abortOnPoolLoop(error) }
  }

  /// Moves the place in the queue to where `priority` belongs: before all that wait with less.
  package func setPriority(_ priority: Float) {
    if pool.executor === caller { return setPriorityOnPoolLoop(priority) }
    pool.executor.loop.execute { self.setPriorityOnPoolLoop(priority) }
  }

  private func setPriorityOnPoolLoop(_ priority: Float) {
    self.priority = priority
    if let pending { pool.reprioritize(pending, to: priority) }
  }

  private func abortOnPoolLoop(_ error: any Error) {
    abortError = error
    pending?.abort(error)
  }
}

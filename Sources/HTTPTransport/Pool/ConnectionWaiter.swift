import NIOCore

/// One load's wait for a connection, begun with `start` and abortable until it is over.
///
/// A load runs on the loop of its first host. After a redirect to a host of another loop it stays where it is, and the
/// exchange is reached through `RemoteExchange`. All methods are called on the caller's loop; those marked so, on the
/// pool's.
package final class ConnectionWaiter: Abortable, @unchecked Sendable {
  package typealias Outcome = Result<any HTTPExchange, any Error>

  private let pool: HTTPConnectionPool
  let key: ConnectionKey
  private let caller: LoopExecutor
  /// Answers the questions of a handshake on behalf of this waiter.
  let handshake: (any HandshakeClient)?
  /// A stream is wanted, for another protocol.
  let changesProtocol: Bool
  /// HTTP/3 is tried though the server has not announced it.
  let assumesHTTP3: Bool
  /// The request may be sent before a handshake is complete (RFC 8470).
  let mayBeEarlyData: Bool
  /// Addresses may be used that were looked up long ago.
  let allowsStaleNames: Bool

  // Confined to the pool's loop.
  private(set) var priority: Float
  /// Its place in the queue; nil before and after the wait.
  private var place: HTTPConnectionPool.StateMachine.WaiterID?
  /// Its place in the queue for a QUIC connection, which it may have beside the other.
  @Rare var quicPlace: (id: HTTPConnectionPool.StateMachine.WaiterID, key: ConnectionKey)?
  /// Begins the wait for a connection over TCP.
  var headStart: Scheduled<Void>?
  /// Why there is no connection over TCP, while one over QUIC is waited for.
  @Rare var tcpFailure: ConnectFailure?
  /// The connection that was begun for it; nil when it waits for others to have room.
  var attempt: HTTPConnectionPool.StateMachine.ConnectionID?
  private(set) var isSettled = false

  // Confined to the caller's loop.
  private var completion: ((Outcome) -> Void)?
  private var abortError: (any Error)?
  @Rare private var progress: ConnectionRecord?
  /// Whether the exchange is on a connection that was made for another origin.
  package private(set) var isCoalesced = false

  init(
    pool: HTTPConnectionPool, key: ConnectionKey, priority: Float, caller: LoopExecutor,
    handshake: (any HandshakeClient)?, changesProtocol: Bool, assumesHTTP3: Bool, mayBeEarlyData: Bool,
    allowsStaleNames: Bool
  ) {
    self.pool = pool
    self.key = key
    self.priority = priority
    self.caller = caller
    self.handshake = handshake
    self.changesProtocol = changesProtocol
    self.assumesHTTP3 = assumesHTTP3
    self.mayBeEarlyData = mayBeEarlyData
    self.allowsStaleNames = allowsStaleNames
  }

  private var isLocal: Bool { pool.executor === caller }

  // MARK: The caller's side

  /// Begins the wait for an exchange: on an idle connection, a new one, or the first that has room. Call once.
  ///
  /// `completion` is called once on the caller's loop, perhaps before `start` returns.
  package func start(_ completion: @escaping (Outcome) -> Void) {
    caller.loop.assertInEventLoop()
    if let abortError { return completion(.failure(abortError)) }
    self.completion = completion
    guard let lease = coalescedLease() else { return join() }
    lease.start { [self] exchange in
      // An abort that is on its way to the pool's loop tells the completion.
      guard let exchange else { return self.completion == nil || abortError != nil ? () : join() }
      guard self.completion != nil else {
        exchange.abort(abortError ?? TransportError.shutDown)
        return exchange.end()
      }
      isCoalesced = true
      complete(.success(exchange), nil)
    }
  }

  private func join() {
    caller.loop.assertInEventLoop()
    if isLocal { return pool.join(self) }
    pool.executor.loop.execute { self.pool.join(self) }
  }

  /// A look for a connection of another origin; nil where none may serve this one, or another way is better.
  private func coalescedLease() -> CoalescedLease? {
    guard let handshake, !changesProtocol, !pool.coalescing.isEmpty else { return nil }
    let speaksHTTP3 = assumesHTTP3 || pool.alternatives.http3Endpoint(for: key) != nil
    guard !pool.offersHTTP3 || !speaksHTTP3 else { return nil }
    return CoalescedLease(
      for: key, handshake: handshake, pool.coalescing, names: pool.configuration.names, caller: caller)
  }

  /// As `start`, for callers that are Swift tasks.
  package func exchange() async throws -> any HTTPExchange {
    try await withUnsafeThrowingContinuation { continuation in start { continuation.resume(with: $0) } }
  }

  /// Ends the wait: the completion gets `error`. An exchange that was on its way is given back. No effect once the
  /// completion was called.
  package func abort(_ error: any Error) {
    caller.loop.assertInEventLoop()
    guard abortError == nil else { return }
    abortError = error
    guard completion != nil else { return }
    if isLocal { return pool.abandon(self, error) }
    pool.executor.loop.execute { self.pool.abandon(self, error) }
  }

  /// Moves the place in the queue to where `priority` belongs: before all that wait with less.
  package func setPriority(_ priority: Float) {
    caller.loop.assertInEventLoop()
    if isLocal { return pool.setPriority(of: self, to: priority) }
    pool.executor.loop.execute { self.pool.setPriority(of: self, to: priority) }
  }

  /// When the wait has failed: how far the connection got that was being made for it; nil when none was.
  package var unfinished: ConnectionRecord? {
    caller.loop.assertInEventLoop()
    return progress
  }

  private func complete(_ outcome: Outcome, _ progress: ConnectionRecord?) {
    caller.loop.assertInEventLoop()
    guard let completion else { return }
    self.completion = nil
    self.progress = progress
    guard let abortError, case .success(let exchange) = outcome else { return completion(outcome) }
    exchange.abort(abortError)
    exchange.end()
    completion(.failure(abortError))
  }

  // MARK: The pool's side

  /// Joined the queue.
  func joined(_ place: HTTPConnectionPool.StateMachine.WaiterID) {
    pool.executor.loop.assertInEventLoop()
    self.place = place
  }

  var queuePlace: HTTPConnectionPool.StateMachine.WaiterID? {
    pool.executor.loop.assertInEventLoop()
    return place
  }

  /// Whether it waits in some queue.
  var isQueued: Bool {
    pool.executor.loop.assertInEventLoop()
    return place != nil || quicPlace != nil
  }

  /// The key of the queue in which it has a place.
  func key(at place: HTTPConnectionPool.StateMachine.WaiterID) -> ConnectionKey {
    pool.executor.loop.assertInEventLoop()
    if let quicPlace, quicPlace.id == place { return quicPlace.key }
    return key
  }

  /// The wait at a place is over, whatever came of it.
  func served(at place: HTTPConnectionPool.StateMachine.WaiterID) {
    pool.executor.loop.assertInEventLoop()
    if quicPlace?.id == place { quicPlace = nil }
    if self.place == place { self.place = nil }
  }

  /// As the state machine knows it.
  func queued(at place: HTTPConnectionPool.StateMachine.WaiterID) -> HTTPConnectionPool.StateMachine.Waiter {
    pool.executor.loop.assertInEventLoop()
    return .init(id: place, priority: priority, changesProtocol: changesProtocol)
  }

  func changePriority(to priority: Float) {
    pool.executor.loop.assertInEventLoop()
    self.priority = priority
  }

  func succeed(_ exchange: any HTTPExchange) {
    pool.executor.loop.assertInEventLoop()
    guard !isLocal else { return settle(.success(exchange), nil) }
    settle(.success(RemoteExchange(exchange, executor: pool.executor, home: caller)), nil)
  }

  func fail(_ error: any Error, _ unfinished: ConnectionRecord? = nil) {
    pool.executor.loop.assertInEventLoop()
    settle(.failure(error), unfinished)
  }

  private func settle(_ outcome: Outcome, _ progress: ConnectionRecord?) {
    pool.executor.loop.assertInEventLoop()
    guard !isSettled else { return }
    isSettled = true
    place = nil
    headStart?.cancel()
    headStart = nil
    if isLocal { return complete(outcome, progress) }
    caller.loop.execute { self.complete(outcome, progress) }
  }
}

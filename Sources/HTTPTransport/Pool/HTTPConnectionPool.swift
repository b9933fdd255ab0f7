import HTTPSemantics
import NIOCore

/// The HTTP connections of one session on one event loop. Confined to that loop.
///
/// `StateMachine` decides, this class performs: it opens and closes sockets and wakes those who wait.
package final class HTTPConnectionPool: @unchecked Sendable {
  package let executor: LoopExecutor
  let configuration: TransportConfiguration
  private let connector: Connector
  private var state: StateMachine
  private var connections: [StateMachine.ConnectionID: HTTP1Connection] = [:]
  private var multiplexed: [StateMachine.ConnectionID: HTTP2Connection] = [:]
  private var waiters: [StateMachine.WaiterID: PendingLease] = [:]
  private var attempts: [StateMachine.ConnectionID: ConnectionAttempt] = [:]
  private var expiryTimer: Scheduled<Void>?
  private var isShutDown = false

  init(configuration: TransportConfiguration, tls: TLSContexts, executor: LoopExecutor) {
    self.executor = executor
    self.configuration = configuration
    connector = Connector(loop: executor.loop, tls: tls, configuration)
    state = StateMachine(
      maximumPerHost: configuration.maximumConnectionsPerHost, offersHTTP2: configuration.offersHTTP2)
  }

  var connectionCount: Int { connections.count + multiplexed.count }

  /// Starts an exchange on an idle connection, or on one that serves many; nil when there is none with room.
  package func idleExchange(for key: ConnectionKey) -> (any HTTPExchange)? {
    closeExpired(at: .now())
    while let id = state.leaseIdle(key) {
      if let connection = connections[id], connection.isUsable { return connection.startExchange() }
      connections.removeValue(forKey: id)?.close()
      perform(state.leasedConnectionClosed(key: key))
    }
    return multiplexed.isEmpty ? nil : streamExchange(for: key)
  }

  private func closeExpired(at now: NIODeadline) {
    guard state.nothingExpiresBefore <= now else { return }
    for id in state.expire(at: now).close { close(id) }
  }

  /// Starts an exchange behind others on a busy HTTP/1.1 connection, where no further connection may be made; nil when
  /// none takes one. Only for requests that may be repeated without harm.
  package func pipelinedExchange(for key: ConnectionKey) -> (any HTTPExchange)? {
    guard state.isFull(key) else { return nil }
    let open = connections.values.lazy.filter { $0.key == key && $0.takesFollowers }
    return open.min { $0.followers.count < $1.followers.count }?.startFollower()
  }

  private func streamExchange(for key: ConnectionKey) -> (any HTTPExchange)? {
    while let id = state.leaseStream(key) {
      if let connection = multiplexed[id], connection.isUsable { return connection.startExchange() }
      close(id)
      perform(state.multiplexedClosed(id, key: key))
    }
    return nil
  }

  private func close(_ id: StateMachine.ConnectionID) {
    connections.removeValue(forKey: id)?.close()
    multiplexed.removeValue(forKey: id)?.close()
  }

  /// Joins the queue for a connection. Await its `exchange()`, or `abort` it.
  package func lease(
    for key: ConnectionKey, priority: Float, handshake: (any HandshakeClient)? = nil, changesProtocol: Bool = false
  ) -> PendingLease {
    let pending = PendingLease(
      pool: self, key: key, priority: priority, handshake: handshake, changesProtocol: changesProtocol)
    guard !isShutDown else {
      pending.fail(TransportError.shutDown)
      return pending
    }
    let (id, action) = state.wait(for: key, priority: priority)
    pending.id = id
    waiters[id] = pending
    perform(action)
    switch action {
    case .connect(let connection, _), .close(_, let connection?, _): pending.attempt = attempts[connection]
    default: break
    }
    return pending
  }

  /// Closes idle connections now and busy ones as soon as they are free.
  func retireConnections() {
    for connection in connections.values { connection.retire() }
    for connection in multiplexed.values { connection.retire() }
    for id in state.removeAllIdle() { close(id) }
  }

  func shutDown() {
    isShutDown = true
    expiryTimer?.cancel()
    expiryTimer = nil
    for id in state.removeAllWaiters() { waiters.removeValue(forKey: id)?.fail(TransportError.shutDown) }
    let all = connections.values
    let allMultiplexed = multiplexed.values
    for id in state.removeAllIdle() {
      connections[id] = nil
      multiplexed[id] = nil
    }
    for connection in all { connection.shutDown() }
    for connection in allMultiplexed { connection.shutDown() }
    for attempt in attempts.values { attempt.giveUp() }
  }

  // MARK: Reports from connections

  func released(_ connection: HTTP1Connection) {
    guard !isShutDown else { return connection.close() }
    perform(state.released(connection.id, key: connection.key, expiry: expiry(of: connection)))
    scheduleExpiry()
  }

  /// The socket is gone, for whatever reason.
  func closed(_ connection: HTTP1Connection) {
    guard connections.removeValue(forKey: connection.id) != nil else { return }
    if connection.isLeased {
      perform(state.leasedConnectionClosed(key: connection.key))
    } else {
      state.idleConnectionClosed(connection.id, key: connection.key)
    }
  }

  /// An exchange on a connection that serves many is over.
  func streamEnded(_ connection: HTTP2Connection) {
    perform(state.streamEnded(connection.id, key: connection.key, expiry: .now() + configuration.idleConnectionTimeout))
    scheduleExpiry()
  }

  func streamLimitChanged(_ connection: HTTP2Connection) {
    state.streamLimitChanged(connection.id, key: connection.key, limit: connection.streamLimit)
    serveAll(connection.key)
  }

  /// The server's SETTINGS say whether its streams may carry another protocol (RFC 8441 §3).
  func learnedProtocolChange(_ connection: HTTP2Connection) {
    state.noteProtocolChange(connection.key, isOffered: connection.settings.enablesConnectProtocol)
    turnAwayProtocolChanges(connection.key)
  }

  /// As far as is known, a stream to this server may carry another protocol.
  package func mayChangeProtocol(_ key: ConnectionKey) -> Bool { state.mayChangeProtocol(key) }

  /// Who waits for such a stream need not wait any longer when there will be none.
  private func turnAwayProtocolChanges(_ key: ConnectionKey) {
    guard !state.mayChangeProtocol(key) else { return }
    for pending in waiters.values where pending.changesProtocol && pending.key == key {
      pending.abort(TransportError.requiresHTTP1)
    }
  }

  /// The connection takes no further streams.
  func draining(_ connection: HTTP2Connection) { perform(state.draining(connection.id, key: connection.key)) }

  func closed(_ connection: HTTP2Connection) {
    guard multiplexed.removeValue(forKey: connection.id) != nil else { return }
    perform(state.multiplexedClosed(connection.id, key: connection.key))
  }

  func abandon(_ pending: PendingLease) {
    guard let id = pending.id, waiters.removeValue(forKey: id) != nil else { return }
    let attempt = pending.attempt ?? attempts.values.first { $0.key == pending.key }
    pending.unfinished = attempt?.progress
    _ = state.cancel(id, key: pending.key, priority: pending.priority)
    giveUpAttempts(for: pending.key, without: pending)
  }

  func reprioritize(_ pending: PendingLease, to priority: Float) {
    guard let id = pending.id, waiters[id] != nil else { return }
    state.reprioritize(id, key: pending.key, from: pending.priority, to: priority)
    pending.priority = priority
  }

  /// A host that takes connections and then says nothing must not hold its slots until the handshake times out: the
  /// next request starts afresh. So does one whose connection asks the load that just went away.
  private func giveUpAttempts(for key: ConnectionKey, without gone: PendingLease) {
    let oldest = NIODeadline.now() - HTTPConnectionPool.stallLimit
    for (id, attempt) in attempts where attempt.key == key {
      // An attempt whose starter still waits is that one's to give up.
      let isStalled = attempt.started < oldest && state.isOrphaned(id, key: key)
      guard attempt.isAsking ? attempt.asked === gone : isStalled else { continue }
      attempts[id] = nil
      perform(state.connectFailed(id, key: key))
      attempt.giveUp()
    }
  }

  private static let stallLimit = TimeAmount.seconds(3)

  // MARK: Performing

  private func perform(_ action: StateMachine.Action) {
    switch action {
    case .nothing: break
    case .connect(let id, let key): connect(id, key)
    case .lease(let id, let waiter):
      guard let connection = connections[id] else { return lease(stream: id, to: waiter) }
      guard let pending = waiters.removeValue(forKey: waiter) else {
        // Nobody took it after all: it is free again.
        return perform(state.released(id, key: connection.key, expiry: expiry(of: connection)))
      }
      pending.succeed(connection.startExchange())
    case .fail(let waiter, let next, let key):
      let pending = waiters.removeValue(forKey: waiter)
      pending?.unfinished = lastFailure?.record
      pending?.fail(lastFailure?.cause ?? TransportError.shutDown)
      if let next { connect(next, key) }
    case .close(let id, let next, let key):
      close(id)
      if let next { connect(next, key) }
    }
  }

  private func lease(stream id: StateMachine.ConnectionID, to waiter: StateMachine.WaiterID) {
    guard let connection = multiplexed[id] else { return }
    guard let pending = waiters.removeValue(forKey: waiter) else { return streamEnded(connection) }
    pending.succeed(connection.startExchange())
  }

  /// Everyone who waits and can be served gets a stream.
  private func serveAll(_ key: ConnectionKey) {
    while true {
      let action = state.serveNext(key)
      guard action != .nothing else { return }
      perform(action)
    }
  }

  /// Opens the connections that had to wait until it was known what the server speaks.
  private func connectAll(_ key: ConnectionKey) {
    while true {
      let action = state.connectMore(key)
      guard action != .nothing else { return }
      perform(action)
    }
  }

  private var lastFailure: ConnectFailure?

  private func connect(_ id: StateMachine.ConnectionID, _ key: ConnectionKey) {
    var isOver = false
    let starter = waiter(of: id, key)
    let attempt = connector.connect(to: key, for: starter?.handshake) { result in
      isOver = true
      self.attempts[id] = nil
      guard !self.isShutDown else {
        if case .success(let established) = result { established.channel.close(promise: nil) }
        return
      }
      switch result {
      case .success(let established) where established.record.protocolName == "h2":
        self.connectedMultiplexed(id, key, established)
      case .success(let established):
        let connection = HTTP1Connection(id: id, key: key, established: established, pool: self)
        do { try connection.activate() } catch {
          established.channel.close(promise: nil)
          self.failed(id, key, ConnectFailure(cause: error, record: established.record))
          return
        }
        self.connections[id] = connection
        let action = self.state.connected(id, key: key, expiry: self.expiry(of: connection))
        if action == .nothing { connection.becameIdle() }
        self.perform(action)
        if key.scheme == .https {
          self.turnAwayProtocolChanges(key)
          self.connectAll(key)
        }
        self.scheduleExpiry()
      case .failure(let error): self.failed(id, key, error)
      }
    }
    if !isOver { attempts[id] = attempt }
    attempt.respondent = { [weak self] in self?.waiter(of: id, key) }
  }

  /// Who waits for the connection being made: whom it was begun for, or the first of the others.
  private func waiter(of id: StateMachine.ConnectionID, _ key: ConnectionKey) -> PendingLease? {
    if let starter = state.starter(of: id, key: key).flatMap({ waiters[$0] }) { return starter }
    return waiters.filter { $0.value.key == key }.min { $0.key < $1.key }?.value
  }

  private func failed(_ id: StateMachine.ConnectionID, _ key: ConnectionKey, _ failure: ConnectFailure) {
    lastFailure = failure
    perform(state.connectFailed(id, key: key))
    lastFailure = nil
    if key.scheme == .https { connectAll(key) }
  }

  private func connectedMultiplexed(
    _ id: StateMachine.ConnectionID, _ key: ConnectionKey, _ established: EstablishedConnection
  ) {
    let record = established.record
    guard HTTP2Security.isAdequate(tlsVersion: record.tlsVersion, suite: record.tlsCipherSuite) else {
      HTTP2Connection.refuse(established.channel, .inadequateSecurity)
      let cause = TransportError.tlsHandshakeFailed(.other("the server's cipher suite is too weak for HTTP/2"))
      return failed(id, key, ConnectFailure(cause: cause, record: record))
    }
    let connection = HTTP2Connection(id: id, key: key, established: established, pool: self)
    do { try connection.activate() } catch {
      established.channel.close(promise: nil)
      return failed(id, key, ConnectFailure(cause: error, record: established.record))
    }
    multiplexed[id] = connection
    let expiry = NIODeadline.now() + configuration.idleConnectionTimeout
    perform(state.connectedMultiplexed(id, key: key, limit: connection.streamLimit, expiry: expiry))
    serveAll(key)
    scheduleExpiry()
  }

  // MARK: Idle connections

  private func expiry(of connection: HTTP1Connection) -> NIODeadline {
    // The server counts from its own last byte, which left it before it reached us.
    let keepAlive = connection.keepAliveTimeout.map {
      max(.zero, min($0, configuration.idleConnectionTimeout) - .seconds(1))
    }
    return .now() + (keepAlive ?? configuration.idleConnectionTimeout)
  }

  private func scheduleExpiry() {
    guard expiryTimer == nil, !isShutDown else { return }
    expiryTimer = executor.loop.assumeIsolated().scheduleTask(in: .seconds(1)) { [weak self] in self?.expireIdle() }
  }

  private func expireIdle() {
    expiryTimer = nil
    let (expired, wake) = state.expire(at: .now())
    for id in expired { close(id) }
    guard let wake else { return }
    let delay = max(.seconds(1), wake - .now())
    expiryTimer = executor.loop.assumeIsolated().scheduleTask(in: delay) { [weak self] in self?.expireIdle() }
  }
}

/// A place in the queue for a connection. Confined to the pool's loop.
package final class PendingLease: @unchecked Sendable {
  private let pool: HTTPConnectionPool
  let key: ConnectionKey
  /// With which it waits, once it has an `id`.
  fileprivate(set) var priority: Float
  /// Answers what a handshake asks on behalf of who waits.
  let handshake: (any HandshakeClient)?
  /// A stream of HTTP/2 is wanted, for another protocol.
  let changesProtocol: Bool
  var id: Int?
  /// The connection that is being made since this wait began; nil when the wait is for others to become free.
  weak var attempt: ConnectionAttempt?
  /// How far the connection got that was not made, once `exchange()` has thrown; nil when none was being made.
  fileprivate(set) var unfinished: ConnectionRecord?
  private var result: Result<any HTTPExchange, any Error>?
  private var waiter: UnsafeContinuation<any HTTPExchange, any Error>?

  init(
    pool: HTTPConnectionPool, key: ConnectionKey, priority: Float, handshake: (any HandshakeClient)?,
    changesProtocol: Bool
  ) {
    self.pool = pool
    self.key = key
    self.priority = priority
    self.handshake = handshake
    self.changesProtocol = changesProtocol
  }

  /// Waits for a connection and starts an exchange on it. Call once.
  package func exchange() async throws -> any HTTPExchange {
    if let result { return try result.get() }
    return try await withUnsafeThrowingContinuation { waiter = $0 }
  }

  /// Leaves the queue; `exchange()` throws `error`. An exchange that came meanwhile is given back.
  package func abort(_ error: any Error) {
    pool.abandon(self)
    if waiter == nil, case .success(let exchange)? = result { exchange.end() }
    fail(error)
  }

  func succeed(_ exchange: any HTTPExchange) { settle(.success(exchange)) }

  func fail(_ error: any Error) { settle(.failure(error)) }

  private func settle(_ outcome: Result<any HTTPExchange, any Error>) {
    guard result == nil else { return }
    result = outcome
    let waiter = self.waiter
    self.waiter = nil
    waiter?.resume(with: outcome)
  }
}

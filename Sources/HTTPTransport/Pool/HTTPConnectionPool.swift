import HTTPSemantics
import NIOCore
import SystemServices

/// The HTTP connections of one session on one event loop. Confined to that loop.
///
/// `StateMachine` decides, this class performs: it opens and closes connections and completes waits.
package final class HTTPConnectionPool: @unchecked Sendable {
  typealias ConnectionID = StateMachine.ConnectionID

  package let executor: LoopExecutor
  let configuration: TransportConfiguration
  private let connector: Connector
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var state: StateMachine
  /// Other ways to servers that these have told of.
  let alternatives: AlternativeServices
  /// Which connections serve other origins too, in the pools of all loops.
  let coalescing: ConnectionCoalescing
  /// The numbers of this pool's connections there.
  private var coalesced: [ConnectionID: CoalescingTable.ID] = [:]
  /// Whether HTTP/3 is spoken.
  let offersHTTP3: Bool
  var outages = HTTP3Outages()
  /// A number that changes with the machine's network, as long as that is watched.
  var network = 0
  var heads = HTTP1HeadMemory()
  let responseHeads = HTTP1ResponseMemory()
  /// Of the watch over the machine's network.
  var networkToken: NetworkMonitor.Token?
  /// By the index of their ID.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var connections: [(any PooledConnection)?] = []
  private var waiters: [StateMachine.WaiterID: ConnectionWaiter] = [:]
  private(set) var attempts: [ConnectionID: ConnectionAttempt] = [:]
  private var isPerforming = false
  private var dueTimer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?

  /// How long a server may take a connection and say nothing before its attempt is given up with its waiter.
  private static let stallLimit = TimeAmount.seconds(3)

  init(
    configuration: TransportConfiguration, shares: HostShares, tls: TLSContexts, executor: LoopExecutor,
    alternatives: AlternativeServices, coalescing: ConnectionCoalescing
  ) {
    self.alternatives = alternatives
    self.coalescing = coalescing
    offersHTTP3 = configuration.speaksHTTP3
    self.executor = executor
    self.configuration = configuration
    connector = Connector(loop: executor.loop, tls: tls, configuration)
    state = StateMachine(
      maximumPerHost: configuration.maximumConnectionsPerHost, shares: shares, offersHTTP2: configuration.offersHTTP2)
  }

  deinit { if let networkToken { configuration.networks.remove(networkToken) } }

  func assertOnLoop() { executor.loop.assertInEventLoop() }

  /// Open connections, the idle ones included.
  var connectionCount: Int {
    assertOnLoop()
    return connections.count { $0 != nil }
  }

  func connection(_ id: ConnectionID) -> (any PooledConnection)? {
    let index = Int(id.index)
    guard connections.indices.contains(index), let connection = connections[index], connection.id == id else {
      return nil
    }
    return connection
  }

  private func keep(_ connection: any PooledConnection) {
    let index = Int(connection.id.index)
    while connections.count <= index { connections.append(nil) }
    connections[index] = connection
  }

  private func take(_ id: ConnectionID) -> (any PooledConnection)? {
    guard let connection = connection(id) else { return nil }
    connections[Int(id.index)] = nil
    stopSharing(id)
    return connection
  }

  // MARK: Asking for a connection

  /// Starts an exchange on a connection that has room; nil when there is none, or when a connection over HTTP/3 is to be
  /// waited for.
  ///
  /// - Parameter changesProtocol: The exchange is to carry another protocol, as far as is known.
  package func idleExchange(
    for key: ConnectionKey, assumesHTTP3: Bool = false, changesProtocol: Bool = false
  ) -> (any HTTPExchange)? {
    assertOnLoop()
    if let quicKey = quicKey(for: key, assumed: assumesHTTP3), !changesProtocol || state.mayChangeProtocol(quicKey) {
      return leasedExchange(for: quicKey)
    }
    return !changesProtocol || state.mayChangeProtocol(key) ? leasedExchange(for: key) : nil
  }

  func leasedExchange(for key: ConnectionKey) -> (any HTTPExchange)? {
    assertOnLoop()
    closeExpired()
    while let id = state.lease(key) {
      if let connection = connection(id), connection.isUsable { return connection.startExchange() }
      discard(id)
    }
    return nil
  }

  /// Starts an exchange on a certain connection; nil when it has no room.
  func exchange(on id: ConnectionID) -> (any HTTPExchange)? {
    assertOnLoop()
    closeExpired()
    guard state.lease(id) else { return nil }
    if let connection = connection(id), connection.isUsable { return connection.startExchange() }
    discard(id)
    return nil
  }

  /// Starts an exchange behind others on a busy connection of HTTP/1.1, where no further connection may be made; nil when
  /// none takes one. Only for requests that may be repeated without harm.
  package func pipelinedExchange(for key: ConnectionKey) -> (any HTTPExchange)? {
    assertOnLoop()
    let open = state.connectionsToFollow(for: key).compactMap { connection($0) }
    let shortest = open.filter { $0.followerCount != nil }.min { $0.followerCount ?? 0 < $1.followerCount ?? 0 }
    return shortest?.startFollower()
  }

  private func closeExpired() {
    let now = NIODeadline.now()
    guard state.nothingIsDueBefore <= now else { return }
    state.timePassed(now)
    perform()
  }

  /// The connection is of no use, though the state machine did not know.
  func discard(_ id: ConnectionID) {
    take(id)?.close()
    state.closed(id, at: .now())
    perform()
  }

  // MARK: Waiters

  /// Completes the wait at once, or queues it.
  func join(_ waiter: ConnectionWaiter) {
    assertOnLoop()
    guard !state.isShutDown else { return waiter.fail(TransportError.shutDown) }
    if joinRace(waiter) { return }
    guard mayServe(waiter) else { return waiter.fail(TransportError.requiresHTTP1) }
    if let exchange = leasedExchange(for: waiter.key) { return waiter.succeed(exchange) }
    waiter.joined(enqueue(waiter, for: waiter.key))
    perform()
    askForOffer(for: waiter)
  }

  /// Whether a connection over TCP may serve what is waited for, as far as is known.
  func mayServe(_ waiter: ConnectionWaiter) -> Bool { !waiter.changesProtocol || state.mayChangeProtocol(waiter.key) }

  /// Puts the waiter into the queue of a key.
  func enqueue(_ waiter: ConnectionWaiter, for key: ConnectionKey) -> StateMachine.WaiterID {
    assertOnLoop()
    let place = state.wait(
      for: key, priority: waiter.priority, changesProtocol: waiter.changesProtocol, at: .now())
    waiters[place] = waiter
    return place
  }

  /// Takes the waiter out of a queue. What is being made for it is finished.
  func leave(_ place: StateMachine.WaiterID, of waiter: ConnectionWaiter, key: ConnectionKey) {
    assertOnLoop()
    waiters[place] = nil
    state.cancel(place, key: key, priority: waiter.priority)
  }

  /// The waiters for a QUIC connection.
  func waiters(for key: ConnectionKey) -> [ConnectionWaiter] {
    waiters.values.filter { $0.quicPlace?.key == key }
  }

  /// The waiters for a connection over TCP.
  func waitersForTCP(_ key: ConnectionKey) -> [ConnectionWaiter] {
    waiters.values.filter { $0.key == key && $0.queuePlace != nil }
  }

  /// The waiter wants no connection any more.
  func abandon(_ waiter: ConnectionWaiter, _ error: any Error) {
    assertOnLoop()
    guard waiter.isQueued else { return waiter.fail(error) }
    let attempt =
      waiter.attempt.flatMap { attempts[$0] }
      ?? state.attempts(of: waiter.key).lazy.compactMap { self.attempts[$0] }.first
    let progress = attempt?.progress
    leaveQueues(waiter)
    waiter.fail(error, progress)
    giveUpAttempts(for: waiter)
    perform()
  }

  func setPriority(of waiter: ConnectionWaiter, to priority: Float) {
    assertOnLoop()
    if let place = waiter.queuePlace {
      state.setPriority(of: place, key: waiter.key, from: waiter.priority, to: priority)
    }
    if let (place, key) = waiter.quicPlace {
      state.setPriority(of: place, key: key, from: waiter.priority, to: priority)
    }
    waiter.changePriority(to: priority)
  }

  /// A host that takes connections and then says nothing must not hold its places until the handshake times out: the
  /// next request starts afresh. Over QUIC it has few seconds, in which something is learned of the place. Whatever asks the
  /// load that just went away is given up.
  private func giveUpAttempts(for gone: ConnectionWaiter) {
    let oldest = NIODeadline.now() - HTTPConnectionPool.stallLimit
    for (id, attempt) in attempts {
      // An attempt whose starter still waits is that one's to give up.
      let isOver =
        attempt.isAsking
        ? attempt.asked === gone
        : attempt.key == gone.key && attempt.started < oldest && state.isOrphaned(id)
      guard isOver else { continue }
      attempts[id] = nil
      state.attemptGivenUp(id)
      attempt.giveUp()
    }
  }

  // MARK: Connections of several origins

  private func share(_ connection: any PooledConnection, _ key: ConnectionKey, _ established: EstablishedConnection) {
    guard connection.streamLimit != nil else { return }
    coalesced[connection.id] = coalescing.opened(
      connection.id, key, established.record, certificates: established.certificates, in: self)
  }

  private func stopSharing(_ id: ConnectionID) {
    if let number = coalesced.removeValue(forKey: id) { coalescing.closed(number) }
  }

  /// The server says for which origins the connection may be used (RFC 8336).
  func listed(_ origins: [String], by connection: any PooledConnection) {
    assertOnLoop()
    if let number = coalesced[connection.id] { coalescing.listed(origins, on: number) }
  }

  // MARK: Reports from connections

  /// An exchange is over, and the connection can serve another, unless it has said otherwise.
  func exchangeEnded(on connection: any PooledConnection) {
    assertOnLoop()
    guard !state.isShutDown else { return connection.close() }
    let now = NIODeadline.now()
    state.released(connection.id, expiry: expiry(of: connection, at: now), at: now)
    perform()
    scheduleDueWork()
  }

  func capacityChanged(_ connection: any PooledConnection) {
    assertOnLoop()
    state.capacityChanged(connection.id, to: connection.streamLimit ?? 1, at: .now())
    perform()
  }

  /// The server's SETTINGS say whether its streams may carry another protocol (RFC 8441 §3).
  func learnedProtocolChange(_ connection: any PooledConnection, isOffered: Bool) {
    assertOnLoop()
    state.learnedProtocolChange(connection.id, isOffered: isOffered)
    perform()
  }

  /// The connection takes no further exchange.
  func draining(_ connection: any PooledConnection) {
    assertOnLoop()
    stopSharing(connection.id)
    state.draining(connection.id, at: .now())
    perform()
  }

  /// The connection is gone, for whatever reason.
  func closed(_ connection: any PooledConnection) {
    assertOnLoop()
    guard take(connection.id) != nil else { return }
    state.closed(connection.id, at: .now())
    perform()
  }

  // MARK: The end

  /// Closes idle connections now and busy ones as soon as they are free.
  func retireConnections() {
    assertOnLoop()
    for connection in connections { connection?.retire() }
    for id in Array(coalesced.keys) { stopSharing(id) }
    outages.removeAll()
    state.retireAll()
    perform()
  }

  func shutDown() {
    assertOnLoop()
    dueTimer?.scheduled.cancel()
    dueTimer = nil
    unwatchNetwork()
    state.shutDown()
    let open = connections
    connections = []
    for id in Array(coalesced.keys) { stopSharing(id) }
    perform()
    for connection in open { connection?.shutDown() }
    let unfinished = attempts.values
    attempts = [:]
    for attempt in unfinished { attempt.giveUp() }
  }

  // MARK: Performing

  /// Performs what the state machine has decided. What follows from an action is decided meanwhile and performed by the
  /// same loop, so that the stack does not grow with the number of waiters.
  func perform() {
    guard !isPerforming else { return }
    isPerforming = true
    defer { isPerforming = false }
    while let action = state.nextAction() {
      switch action {
      case .connect(let id, let key, let starter): connect(id, key, for: starter)
      case .lease(let id, let waiter): lease(id, to: waiter)
      case .fail(let waiter, let reason): fail(waiter, reason)
      case .keepIdle(let id): connection(id)?.keepIdle()
      case .close(let id): take(id)?.close()
      }
    }
  }

  private func lease(_ id: ConnectionID, to place: StateMachine.WaiterID) {
    guard let waiter = waiters[place] else {
      // It left meanwhile: the room is free again.
      guard let connection = connection(id) else { return }
      let now = NIODeadline.now()
      return state.released(id, expiry: expiry(of: connection, at: now), at: now)
    }
    guard !state.isShutDown else { return fail(place, .shutDown) }
    guard let connection = connection(id), connection.isUsable else {
      take(id)?.close()
      return state.leaseFailed(id, waiter.queued(at: place), key: waiter.key(at: place))
    }
    waiters[place] = nil
    waiter.served(at: place)
    leaveQueues(waiter)
    waiter.succeed(connection.startExchange())
  }

  private func fail(_ place: StateMachine.WaiterID, _ reason: StateMachine.WaitFailure) {
    guard let waiter = waiters.removeValue(forKey: place) else { return }
    let hasWaitedForQUIC = waiter.quicPlace?.id == place
    waiter.served(at: place)
    switch reason {
    case .notConnected(let failure):
      // The other way may still lead there, unless this one says something of the server.
      if waiter.isQueued, failure.mayBeOvercomeByWaiting {
        waiter.tcpFailure = failure
        return
      }
      leaveQueues(waiter)
      waiter.fail(failure.cause, failure.record)
    case .requiresHTTP1 where hasWaitedForQUIC: joinTCP(waiter)
    case .requiresHTTP1:
      leaveQueues(waiter)
      waiter.fail(TransportError.requiresHTTP1)
    case .shutDown:
      leaveQueues(waiter)
      waiter.fail(TransportError.shutDown)
    }
  }

  private func connect(_ id: ConnectionID, _ key: ConnectionKey, for starter: StateMachine.WaiterID) {
    guard !state.isShutDown else { return }
    var isOver = false
    waiters[starter]?.attempt = id
    let client = waiter(for: id)
    if key.quic != nil { watchNetwork() }
    let network = network
    let attempt = begin(key, for: client) { result in
      isOver = true
      self.attempts[id] = nil
      self.connected(id, key, begunOn: network, result)
    }
    guard !isOver else { return }
    attempts[id] = attempt
    attempt.respondent = { [weak self] in self?.waiter(for: id) }
  }

  private func begin(
    _ key: ConnectionKey, for client: ConnectionWaiter?,
    _ completion: @escaping (Result<EstablishedConnection, ConnectFailure>) -> Void
  ) -> ConnectionAttempt {
    let freshness: NameFreshness = client?.allowsStaleNames == true ? .stale : .current
    #if HTTP3
    if let endpoint = key.quic {
      giveHeadStarts(to: key)
      return connector.connectQUIC(
        to: key, endpoint: endpoint, wantsEarlyData: client?.mayBeEarlyData == true, on: executor,
        for: client?.handshake, freshness, completion)
    }
    #endif
    return connector.connect(
      to: key, for: client?.handshake, freshness, through: tunnelOpening(for: key), completion)
  }

  /// The waiter that answers for a connection that is being made.
  private func waiter(for id: ConnectionID) -> ConnectionWaiter? { state.waiter(for: id).flatMap { waiters[$0] } }

  private func connected(
    _ id: ConnectionID, _ key: ConnectionKey, begunOn network: Int,
    _ result: Result<EstablishedConnection, ConnectFailure>
  ) {
    assertOnLoop()
    guard !state.isShutDown else {
      if case .success(let established) = result { established.discard() }
      return
    }
    let now = NIODeadline.now()
    do {
      let established = try result.get()
      let connection = try established.start(id, key, in: self)
      keep(connection)
      share(connection, key, established)
      let expiry = expiry(of: connection, at: now)
      state.connected(
        id, streams: connection.streamLimit, isTentative: !connection.knowsStreamLimit, expiry: expiry, at: now)
      quicConnected(key, begunOn: network, nil)
      if key.quic != nil { watchNetwork() }
    } catch let failure {
      // Before its waiters could have another one made.
      quicConnected(key, begunOn: network, failure)
      state.connectFailed(id, failure, at: now)
    }
    perform()
    scheduleDueWork()
  }

  // MARK: Time

  private func expiry(of connection: any PooledConnection, at now: NIODeadline) -> NIODeadline {
    guard let promised = connection.serverIdleTimeout else { return now + configuration.idleConnectionTimeout }
    // The server counts from its own last byte, which left it before it reached us.
    return now + max(.zero, min(promised, configuration.idleConnectionTimeout) - .seconds(1))
  }

  func scheduleDueWork() {
    guard !state.isShutDown, state.nothingIsDueBefore < .distantFuture else { return }
    // A second later is early enough, and spares most changes of the timer.
    if let dueTimer, dueTimer.deadline <= state.nothingIsDueBefore + .seconds(1) { return }
    dueTimer?.scheduled.cancel()
    let deadline = max(state.nothingIsDueBefore, .now() + .seconds(1))
    let scheduled = executor.loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] () -> Void in
      self?.doDueWork()
    }
    dueTimer = (deadline, scheduled)
  }

  private func doDueWork() {
    dueTimer = nil
    state.timePassed(.now())
    perform()
    scheduleDueWork()
  }
}

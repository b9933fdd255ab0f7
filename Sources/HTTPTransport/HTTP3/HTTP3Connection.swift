#if HTTP3
import CQUIC
import HTTPSemantics
import NIOCore
import NIOHPACK

/// HTTP/3 on one QUIC connection: the exchanges, one a stream, and what the server says of the whole connection. Confined
/// to the connection's loop.
final class HTTP3Connection: PooledConnection, @unchecked Sendable {
  let id: HTTPConnectionPool.ConnectionID
  let key: ConnectionKey
  private(set) var record: ConnectionRecord
  let quic: QUICConnection
  let pool: HTTPConnectionPool
  /// The number that the machine's network had when the connection came about, or its first requests left.
  private let network: Int
  /// See `ConnectionRecord`.
  private let alternativeService: String?
  /// The exchanges whose streams are open, kept until the machine says that it has forgotten them.
  private var streams: [ObjectIdentifier: HTTP3Exchange] = [:]
  /// Exchanges that something has happened to while the machine ran.
  private var touched: [HTTP3Exchange] = []
  private var leases = 0
  private var exchangeCount = 0
  private var hasServed = false
  private(set) var isDraining = false
  private var capacityHasChanged = false
  private var goingAwayFrom: Int64?
  private var toldLimit = 0
  /// Whether the handshake is complete, and the server trusted. Until then requests leave as early data, or wait.
  private(set) var isConfirmed: Bool
  private var confirmationTimer: Scheduled<Void>?
  private var settingsTimer: Scheduled<Void>?
  /// Exchanges that wait for the server's settings.
  private var awaitingSettings: [HTTP3Exchange] = []

  /// How much of a body may be unread; grows while the reader keeps up. See `HTTP2Exchange`.
  static let streamWindow = 1 << 20
  static let largestStreamWindow = 8 << 20
  static let window = 16 << 20
  /// The pool closes an idle connection sooner; a server that no longer answers is given up then.
  static let idleTimeout = TimeAmount.seconds(60)
  static let handshakeTimeout = TimeAmount.seconds(10)
  /// A server that stays silent for longer, while an answer is due, is asked whether it is there.
  private static let silenceBeforePing = TimeAmount.seconds(15)

  init(
    id: HTTPConnectionPool.ConnectionID, key: ConnectionKey, record: ConnectionRecord, quic: QUICConnection,
    pool: HTTPConnectionPool
  ) {
    self.id = id
    self.key = key
    self.record = record
    self.quic = quic
    self.pool = pool
    network = pool.network
    alternativeService = pool.announcedName(of: key)
    self.record.alternativeService = alternativeService
    isConfirmed = quic.isReady
    quic.http = self
    quic.failed = { [weak self] failure in self?.failed(failure) }
    toldLimit = limit
    if isConfirmed { begin() } else { awaitConfirmation() }
  }

  deinit {
    confirmationTimer?.cancel()
    settingsTimer?.cancel()
  }

  // MARK: Early data

  /// How long requests are left to a server that has not answered yet, at least; and in round trips, so that what is lost can
  /// be sent again (after three) and be answered.
  private static let earlyPatience = TimeAmount.seconds(1)
  private static let earlyRoundTrips: Int64 = 5

  private func awaitConfirmation() {
    let patience = max(
      pool.configuration.http3HeadStart, HTTP3Connection.earlyPatience,
      quic.expectedRoundTrip * HTTP3Connection.earlyRoundTrips)
    confirmationTimer = quic.channel.eventLoop.assumeIsolated().scheduleTask(in: patience) { [weak self] () -> Void in
      guard let self, !self.isConfirmed else { return }
      self.fail(.connectionLost(reason: "the server does not answer over QUIC"))
      self.quic.close(.noError)
    }
  }

  /// The handshake is complete, and the server is trusted.
  func confirmed(_ record: ConnectionRecord) {
    assertInEventLoop()
    guard !hasFailed else { return }
    confirmationTimer?.cancel()
    isConfirmed = true
    self.record = record
    self.record.alternativeService = alternativeService
    begin()
  }

  // MARK: Beginning

  private func begin() {
    quic.beginRequests()
    guard enablesConnectProtocol == nil else { return }
    let patience = pool.configuration.settingsPatience
    settingsTimer = quic.channel.eventLoop.assumeIsolated().scheduleTask(in: patience) { [weak self] () -> Void in
      self?.settingsAreLate()
    }
  }

  /// RFC 9114 §6.2.1: SETTINGS are the first that a server says. A server that answers requests is believed without.
  private func settingsAreLate() {
    assertInEventLoop()
    guard !hasFailed, enablesConnectProtocol == nil, !hasServed,
      streams.values.allSatisfy({ $0.record.responseStart == nil })
    else { return }
    // HTTP/2 may work with it.
    if let endpoint = key.quic { pool.failedEarly(endpoint, key, begunOn: network) }
    fail(.noSettings)
    quic.close(.missingSettings)
  }

  func assertInEventLoop() { quic.assertInEventLoop() }

  var failure: QUICFailure? { quic.failure }

  // MARK: PooledConnection

  var isUsable: Bool { failure == nil && !isDraining && quic.channel.isActive }

  private var limit: Int {
    guard let machine = quic.machine else { return 0 }
    return Int(clamping: cquic_streams_left(machine)) + streams.count
  }

  var streamLimit: Int? { max(1, min(limit, 1_000)) }

  let knowsStreamLimit = true
  let serverIdleTimeout: TimeAmount? = nil
  let followerCount: Int? = nil

  func startFollower() -> any HTTPExchange { startExchange() }

  func startExchange() -> any HTTPExchange {
    assertInEventLoop()
    exchangeCount += 1
    leases += 1
    if leases == 1, let machine = quic.machine {
      cquic_keep_alive(machine, UInt64(HTTP3Connection.silenceBeforePing.nanoseconds))
    }
    return HTTP3Exchange(
      connection: self, record: ExchangeRecord(connection: record, isReusedConnection: exchangeCount > 1))
  }

  /// The exchange is over, whatever became of it.
  func ended(_ exchange: HTTP3Exchange, served: Bool) {
    assertInEventLoop()
    leases -= 1
    if served { hasServed = true }
    if leases == 0, let machine = quic.machine { cquic_keep_alive(machine, 0) }
    pool.exchangeEnded(on: self)
  }

  /// A request that is given up says something of the connection when nothing has come from the server for so long.
  private static let suspiciousSilence = TimeAmount.seconds(1)

  /// A request is given up before its answer is complete. When nothing came from the server meanwhile the network may drop
  /// its datagrams: further requests take another connection, or another way.
  func gaveUp(requestSince start: NIODeadline?) {
    guard !isDraining, !hasFailed, let start, let heard = quic.lastHeard else { return }
    guard NIODeadline.now() - max(start, heard) >= HTTP3Connection.suspiciousSilence else { return }
    isDraining = true
    pool.draining(self)
  }

  func keepIdle() { assertInEventLoop() }

  func retire() {
    assertInEventLoop()
    isDraining = true
  }

  func close() {
    assertInEventLoop()
    fail(.connectionLost(reason: "the connection was closed"))
    quic.close(.noError)
  }

  func shutDown() {
    assertInEventLoop()
    fail(.shutDown)
    quic.close(.noError)
  }

  // MARK: Ending

  private func failed(_ failure: QUICFailure) {
    let error = failure.certificateCause(record.clientCertificate) ?? failure.transportError
    guard case .requiresHTTP1 = error else { return fail(error) }
    // The server wants another version for what comes next (RFC 9114 §8.1).
    fail(.notProcessed(reason: "the server wants another version of HTTP", because: .leaving(hasServed: hasServed)))
  }

  private(set) var hasFailed = false

  private func fail(_ error: TransportError) {
    guard !hasFailed else { return }
    hasFailed = true
    isDraining = true
    confirmationTimer?.cancel()
    settingsTimer?.cancel()
    var error = error
    if !isConfirmed, case .shutDown = error {
    } else if !isConfirmed {
      // Early data do no harm when they are sent again, and the rest was not sent.
      if let endpoint = key.quic { pool.failedEarly(endpoint, key, begunOn: network) }
      error = .notProcessed(reason: "the server did not take up the connection", because: .leaving(hasServed: false))
    }
    // Before the exchanges: what they do next must not meet this connection again.
    pool.closed(self)
    let open = Array(streams.values)
    streams = [:]
    touched = []
    for exchange in open { exchange.connectionFailed(meaning(of: error, for: exchange)) }
    tellOfSettings()
  }

  /// A connection that broke before a byte of response came may only have been stale.
  func meaning(of failure: TransportError, for exchange: HTTP3Exchange) -> TransportError {
    guard case .connectionLost = failure, exchange.record.responseStart == nil else { return failure }
    return .closedBeforeResponse(wasReused: exchange.record.isReusedConnection)
  }

  // MARK: Requests

  func open(_ exchange: HTTP3Exchange, _ fields: HPACKHeaders, hasBody: Bool, isEarly: Bool) throws -> OpaquePointer {
    assertInEventLoop()
    guard !hasFailed, let machine = quic.machine else {
      throw TransportError.notProcessed(
        reason: "the connection ended before the request was sent", because: .leaving(hasServed: hasServed))
    }
    guard !isDraining || goingAwayFrom == nil else {
      throw TransportError.notProcessed(
        reason: "the server is going away", because: .leaving(hasServed: hasServed))
    }
    let stream = HTTP3FieldList.withFields(fields) { list in
      cquic_request(
        machine, list.baseAddress, list.count, hasBody ? 1 : 0, isEarly ? 1 : 0,
        Unmanaged.passUnretained(exchange).toOpaque())
    }
    guard let stream else { throw TransportError.notProcessed(reason: "the server takes no more streams now") }
    streams[ObjectIdentifier(exchange)] = exchange
    quic.scheduleSend()
    return stream
  }

  // MARK: Another protocol (RFC 9220)

  /// nil before the server's settings are there.
  var enablesConnectProtocol: Bool? { quic.peerSettings.enablesConnectProtocol }

  func awaitSettings(_ exchange: HTTP3Exchange) {
    assertInEventLoop()
    awaitingSettings.append(exchange)
  }

  private func tellOfSettings() {
    let all = awaitingSettings
    awaitingSettings = []
    for exchange in all { exchange.receivedSettings() }
  }

  // MARK: The network

  func networkChanged() { quic.networkChanged() }

  func moved(to address: SocketAddress) { record.localAddress = address }

  /// The socket was closed. Open exchanges wait for another one; further requests are not to.
  ///
  /// - Returns: whether there is something that waits.
  func outlivesSocket() -> Bool {
    guard !streams.isEmpty, isConfirmed, !hasFailed else { return false }
    if !isDraining {
      isDraining = true
      pool.draining(self)
    }
    return true
  }

  // MARK: What the machine tells, from inside its calls

  private var settingsHaveCome = false

  func receivedSettings() { settingsHaveCome = true }

  func touch(_ exchange: HTTP3Exchange) { touched.append(exchange) }

  func streamClosed(_ exchange: HTTP3Exchange) {
    streams[ObjectIdentifier(exchange)] = nil
    capacityHasChanged = true
  }

  func streamsChanged() { capacityHasChanged = true }

  func goingAway(from first: Int64) { goingAwayFrom = min(first, goingAwayFrom ?? .max) }

  // MARK: Acting upon it

  func act() {
    assertInEventLoop()
    if let first = goingAwayFrom, !hasFailed { leave(from: first) }
    while !touched.isEmpty {
      let all = touched
      touched = []
      for exchange in all { exchange.progressed() }
    }
    if settingsHaveCome, !hasFailed {
      settingsHaveCome = false
      settingsTimer?.cancel()
      tellOfSettings()
      pool.learnedProtocolChange(self, isOffered: enablesConnectProtocol == true)
    }
    guard capacityHasChanged, !hasFailed else { return }
    capacityHasChanged = false
    let limit = limit
    guard limit != toldLimit else { return }
    toldLimit = limit
    pool.capacityChanged(self)
  }

  /// RFC 9114 §5.2: requests on later streams were not acted upon.
  private func leave(from first: Int64) {
    if !isDraining {
      isDraining = true
      pool.draining(self)
    }
    for exchange in Array(streams.values) where exchange.streamNumber.map({ $0 >= first }) ?? true {
      exchange.connectionFailed(
        .notProcessed(reason: "the server is going away", because: .leaving(hasServed: hasServed)))
    }
  }
}
#endif

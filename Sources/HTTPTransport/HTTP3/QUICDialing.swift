#if HTTP3
import CQUIC
import NIOCore
import SystemServices

/// Makes one QUIC connection: looks the host up, tries its addresses one after the other with a short delay, in the order in
/// which those of TCP are tried, and has the certificates of the first that answers judged. Where no address that was kept
/// answers, or none has within a second, the name servers are asked once, and the addresses are tried that are new. Confined to
/// the loop.
///
/// The judgement comes behind the handshake and before any request: the library can't wait in the middle of it, and
/// nothing but the handshake's own messages is sent before. For early data (RFC 9001 §4.6) the certificates that the server
/// showed when it gave its ticket are judged before the handshake. A server that asks who the client is learns that in a
/// handshake of its own, when the app has chosen.
final class QUICDialing: @unchecked Sendable {
  typealias Completion = (Result<EstablishedConnection, ConnectFailure>) -> Void

  private let attempt: ConnectionAttempt
  private let executor: LoopExecutor
  private let endpoint: QUICEndpoint
  private let tickets: QUICTicketCache
  private let wantsEarlyData: Bool
  private let completion: Completion
  private var ticket: QUICTicket?
  /// Whether what the ticket's server showed is trusted.
  private var ticketIsTrusted = false
  /// The certificates that were judged.
  private var trusted: [[UInt8]]?
  /// Whether the client was asked who it is, and what it answered.
  private var hasChosen = false
  private var identity: ClientIdentity?
  private var lookups = 0
  private var hasAskedAfresh = false
  private var found: [DestinationOrder.Candidate] = []
  /// The best first.
  private var candidates: [SocketAddress] = []
  /// How many of them a network leads to: those that come first.
  private var usableCount = 0
  private var tried: [SocketAddress] = []
  /// How many addresses may still be tried.
  private var triesLeft = QUICDialing.mostAddresses
  private var dialled: [QUICConnection] = []
  private var opening = 0
  private var timer: Scheduled<Void>?
  private var freshTimer: Scheduled<Void>?
  private var isOver = false
  private var lastFailure: (any Error)?

  /// RFC 8305 §5: before the next address is tried beside the ones that have not answered.
  private static let stagger = TimeAmount.milliseconds(250)
  /// RFC 8305 §3: how long an answer of one family waits for the other.
  private static let lookupGrace = TimeAmount.milliseconds(50)
  private static let mostAddresses = 4
  /// Of each family: finding their sources takes system calls on the loop.
  private static let mostAnswers = 32

  init(
    _ attempt: ConnectionAttempt, endpoint: QUICEndpoint, tickets: QUICTicketCache, wantsEarlyData: Bool,
    executor: LoopExecutor, _ completion: @escaping Completion
  ) {
    self.attempt = attempt
    self.endpoint = endpoint
    self.tickets = tickets
    self.wantsEarlyData = wantsEarlyData
    self.executor = executor
    self.completion = completion
  }

  private var loop: any EventLoop { executor.loop }

  /// A handshake says nothing of the packets' class.
  private var ticketKey: ConnectionKey {
    var key = attempt.key
    key.trafficClass = .bestEffort
    return key
  }

  func start() {
    loop.assertInEventLoop()
    attempt.record.connectStart = .now()
    ticket = tickets.take(for: ticketKey)
    guard wantsEarlyData, let ticket, ticket.permitsEarlyData else { return find() }
    // The load that is asked about the server is only known when the caller has the attempt.
    loop.assumeIsolated().execute { self.judge(ticket) }
  }

  /// Has the server's certificates judged before the handshake.
  private func judge(_ ticket: QUICTicket) {
    loop.assertInEventLoop()
    attempt.verdict(on: ticket.certificates) { result in
      guard !self.attempt.isGivenUp else { return self.giveUp() }
      switch result {
      case .success: self.ticketIsTrusted = true
      case .failure(let error):
        if self.attempt.client?.mayBeAsked == true { return self.fail(error) }
        // By now it may have other certificates.
        self.ticket = nil
      }
      self.find()
    }
  }

  // MARK: Addresses

  private func find() {
    if let address = try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port) {
      candidates = [address]
      usableCount = 1
      return tryNext()
    }
    lookups = 2
    freshTimer = loop.assumeIsolated().scheduleTask(in: AddressDialing.keptAnswerPatience) {
      [weak self] () -> Void in
      self?.askBeside()
    }
    attempt.resolver.start(endpoint.host) { family, addresses in self.answered(family, addresses) }
  }

  private func answered(_ family: AddressFamily, _ addresses: [NetworkAddress]) {
    loop.assertInEventLoop()
    lookups -= 1
    guard !isOver else { return }
    let new = addresses.prefix(QUICDialing.mostAnswers).map {
      DestinationOrder.Candidate($0, from: attempt.memory.source(towards: $0))
    }
    found += new.filter { !found.contains($0) }
    let order = DestinationOrder.inTurns(found)
    candidates = order.map { SocketAddress($0.address, port: endpoint.port, host: endpoint.host) }
    usableCount = order.count { $0.source != nil }
    // While the next address has its turn to come, the answer changes nothing but which one that is.
    guard tried.isEmpty else { return timer == nil ? tryNext() : tryNextIfIdle() }
    // As over TCP, that of IPv4 waits a moment for that of IPv6.
    let isFirstChoice = family == .v6 && new.contains { $0.source != nil }
    if lookups == 0 || isFirstChoice && isKnown(ticket?.address) { return tryNext() }
    wait(QUICDialing.lookupGrace)
  }

  private func wait(_ time: TimeAmount) {
    timer?.cancel()
    timer = loop.assumeIsolated().scheduleTask(in: time) { [weak self] () -> Void in self?.tryNext() }
  }

  private func tryNextIfIdle() { if opening == 0, dialled.isEmpty { tryNext() } }

  private func tryNext() {
    timer?.cancel()
    timer = nil
    guard !isOver else { return }
    guard triesLeft > 0, let address = nextAddress else { return isIdle ? noneLeft() : () }
    triesLeft -= 1
    tried.append(address)
    dial(address)
    wait(QUICDialing.stagger)
  }

  /// Whether no address is being tried, and no answer is on its way.
  private var isIdle: Bool { lookups == 0 && opening == 0 && dialled.isEmpty }

  /// The address that the server had when it gave the ticket comes first: it alone is known to answer. Addresses to which no
  /// network leads are tried when there is no other.
  private var nextAddress: SocketAddress? {
    let untried = candidates.prefix(isIdle ? candidates.count : usableCount).filter { !tried.contains($0) }
    return untried.first { $0 == ticket?.address } ?? untried.first
  }

  /// That addresses which were kept do not answer says nothing of the server: it may have others by now.
  private func noneLeft() {
    guard attempt.resolver.hasKeptAnswers, !hasAskedAfresh, !attempt.isGivenUp else {
      return fail(lastFailure ?? NameFailure(reason: "the name has no address", isAbsence: true))
    }
    askAfresh()
  }

  /// The same where addresses that were kept do not answer: those that are new are tried beside them.
  private func askBeside() {
    loop.assertInEventLoop()
    guard !isOver, attempt.resolver.hasKeptAnswers, !hasAskedAfresh, !tried.isEmpty, !attempt.isGivenUp else { return }
    askAfresh()
  }

  private func askAfresh() {
    hasAskedAfresh = true
    triesLeft = QUICDialing.mostAddresses
    // Those that were kept and not tried count no more, unless they are found again.
    (found, candidates, usableCount) = ([], [], 0)
    lookups = 2
    attempt.resolver.startAfresh { family, addresses in self.answered(family, addresses) }
  }

  private func isKnown(_ address: SocketAddress?) -> Bool { address.map(candidates.contains) ?? true }

  /// The ticket for a connection to `address`: an address that does not answer would use it up for the one that does.
  private func takeTicket(for address: SocketAddress) -> QUICTicket? {
    guard let ticket, ticket.address == address || lookups == 0 && !isKnown(ticket.address) else { return nil }
    self.ticket = nil
    return ticket
  }

  private func dial(_ address: SocketAddress) {
    opening += 1
    QUICSocket.open(to: address, on: loop).assumeIsolated().whenComplete { result in
      self.opening -= 1
      do { try self.opened(try result.get(), address) } catch { self.oneFailed(nil, error) }
    }
  }

  private func opened(_ channel: any Channel, _ address: SocketAddress) throws {
    guard !isOver else { return channel.close(promise: nil) }
    do {
      try attempt.opened(channel)
      let ticket = takeTicket(for: address)
      let quic = QUICConnection(
        channel: channel, remote: address, trafficClass: attempt.key.trafficClass, executor: executor)
      quic.handshakeCompleted = { [weak self, weak quic] in
        if let self, let quic { self.answered(quic, address) }
      }
      quic.failed = { [weak self, weak quic] failure in self?.oneFailed(quic, failure) }
      try quic.attach(channel)
      dialled.append(quic)
      try quic.start(
        host: attempt.key.host, ticket: ticket, sendsEarlyData: ticketIsTrusted, identity: identity)
      if quic.sendsEarlyData, let ticket { beganEarly(quic, address, ticket) }
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  private func oneFailed(_ quic: QUICConnection?, _ error: any Error) {
    loop.assertInEventLoop()
    dialled.removeAll { $0 === quic }
    lastFailure = error
    guard !isOver else { return }
    if attempt.isGivenUp { return fail(TransportError.shutDown) }
    // A server that has answered says more than one that has not.
    tryNext()
  }

  // MARK: The server's answer

  /// The first that answers is the one; it is judged before it counts.
  private func answered(_ quic: QUICConnection, _ address: SocketAddress) {
    guard !isOver, quic.machine != nil else { return }
    choose(quic, address)
    attempt.record.secureConnectionStart = attempt.record.connectStart
    attempt.record.secureConnectionEnd = .now()
    attempt.record.tlsCipherSuite = quic.cipherSuite
    let chain = quic.certificates
    attempt.record.serverCertificate = chain.first.flatMap { ServerCertificate(der: $0) }
    // A server that insists may end the connection while it is judged, which takes all that is known of it away.
    let request = quic.wasAskedForCertificate ? CertificateRequest(authorities: quic.authorities) : nil
    quic.failed = { [weak self] failure in self?.endedWith = failure }
    if chain == trusted { return judged(quic, address, request) }
    attempt.judge(chain) { isTrusted in
      guard isTrusted, !self.attempt.isGivenUp else { return self.refused(quic) }
      self.trusted = chain
      self.judged(quic, address, request)
    }
  }

  /// No further address is tried, and no answer is waited for.
  private func finishDialing() {
    isOver = true
    timer?.cancel()
    timer = nil
    freshTimer?.cancel()
    freshTimer = nil
    attempt.resolver.cancel()
  }

  private func choose(_ quic: QUICConnection, _ address: SocketAddress) {
    finishDialing()
    for other in dialled where other !== quic {
      other.failed = { _ in }
      other.close(.noError)
    }
    dialled = [quic]
    attempt.record.protocolName = "h3"
    attempt.record.tlsVersion = 0x0304
    attempt.record.localAddress = quic.channel.localAddress
    attempt.record.remoteAddress = address
  }

  /// - Parameter request: for the client's certificate; nil where the server wants none.
  private func judged(_ quic: QUICConnection, _ address: SocketAddress, _ request: CertificateRequest?) {
    guard let request else { return completed(quic) }
    guard !hasChosen else {
      attempt.record.clientCertificate = identity == nil ? .withheld : .sent
      return completed(quic)
    }
    attempt.chooseIdentity(for: request) { result in
      self.hasChosen = true
      switch result {
      case .failure(let error):
        self.attempt.settle(.failure(error))
        self.refused(quic)
      case .success where self.attempt.isGivenUp: self.refused(quic)
      case .success(let identity):
        self.identity = identity
        // The server may have ended the connection because it got no certificate, which is to be told; or because the
        // choice took long.
        let isRejected = self.endedWith?.certificateCause(.withheld) != nil
        if identity == nil, quic.failure == nil || isRejected { return self.completed(quic) }
        quic.failed = { _ in }
        quic.close(.noError)
        self.isOver = false
        self.dialled = []
        self.endedWith = nil
        // The server's other addresses may answer where this one no longer does.
        self.tried = [address]
        self.triesLeft = QUICDialing.mostAddresses - 1
        self.dial(address)
        self.wait(QUICDialing.stagger)
      }
    }
  }

  private func completed(_ quic: QUICConnection) {
    guard quic.failure == nil, !attempt.isGivenUp else { return refused(quic) }
    attempt.settle(.success(()))
    quic.failed = { _ in }
    keepTickets(of: quic)
    deliver(quic)
  }

  private func keepTickets(of quic: QUICConnection) {
    guard !quic.wasAskedForCertificate else { return }
    let (tickets, key) = (tickets, ticketKey)
    quic.keepTickets { tickets.keep($0, for: key) }
  }

  private func deliver(_ quic: QUICConnection) {
    var established = attempt.established(quic.channel)
    established.quic = quic
    dialled = []
    deliver(.success(established))
  }

  private var endedWith: QUICFailure?
  private var isDelivered = false

  // MARK: Early data

  /// Requests leave with the first datagrams. When the server does not answer in time they are sent again over another
  /// connection, as is known of them that this does no harm.
  private func beganEarly(_ quic: QUICConnection, _ address: SocketAddress, _ ticket: QUICTicket) {
    choose(quic, address)
    trusted = ticket.certificates
    attempt.record.serverCertificate = ticket.certificates.first.flatMap { ServerCertificate(der: $0) }
    quic.handshakeCompleted = { [weak quic] in
      if let quic { self.confirmed(quic) }
    }
    quic.failed = { _ in }
    deliver(quic)
  }

  /// The handshake is complete whose requests have left.
  private func confirmed(_ quic: QUICConnection) {
    loop.assertInEventLoop()
    attempt.record.secureConnectionStart = attempt.record.connectStart
    attempt.record.secureConnectionEnd = .now()
    attempt.record.connectEnd = attempt.record.secureConnectionEnd
    attempt.record.tlsCipherSuite = quic.cipherSuite
    let chain = quic.certificates
    attempt.record.serverCertificate = chain.first.flatMap { ServerCertificate(der: $0) }
    // It wants to know who the client is, or is to be judged by an app: that is done with another connection.
    let mayGoOn = !quic.wasAskedForCertificate && (chain == trusted || attempt.client?.mayBeAsked != true)
    guard mayGoOn else { return unconfirmed(quic) }
    if chain == trusted { return goOn(quic) }
    attempt.judge(chain) { isTrusted in isTrusted ? self.goOn(quic) : self.unconfirmed(quic) }
  }

  private func goOn(_ quic: QUICConnection) {
    attempt.settle(.success(()))
    keepTickets(of: quic)
    quic.http?.confirmed(attempt.record)
  }

  private func unconfirmed(_ quic: QUICConnection) {
    forgetKeptAnswers()
    attempt.settle(.failure(TransportError.shutDown))
    quic.http?.close()
  }

  // MARK: Failure

  /// As over TCP: an address that was kept may be that of another server by now.
  private func forgetKeptAnswers() {
    if attempt.resolver.hasKeptAnswers, !attempt.isGivenUp { attempt.memory.forgetAnswers(about: endpoint.host) }
  }

  /// Ends it now: an app that is asked may never answer.
  fileprivate func giveUp() {
    loop.assertInEventLoop()
    guard !isDelivered else { return }
    for quic in dialled {
      quic.failed = { _ in }
      quic.close(.noError)
    }
    dialled = []
    fail(TransportError.shutDown)
  }

  private func refused(_ quic: QUICConnection) {
    forgetKeptAnswers()
    quic.failed = { _ in }
    quic.close(.noError)
    let ended = endedWith.map { $0.certificateCause(attempt.record.clientCertificate) ?? $0.transportError }
    let reason = attempt.failure ?? ended ?? TransportError.shutDown
    deliver(.failure(ConnectFailure(cause: attempt.explain(reason), record: attempt.progress)))
  }

  private func fail(_ error: any Error) {
    finishDialing()
    let cause: any Error =
      switch error {
      case _ where attempt.isGivenUp: TransportError.shutDown
      case let failure as QUICFailure where failure.kind == .unreachable || failure.kind == .silent:
        TransportError.cannotConnect(host: endpoint.host, port: endpoint.port, reason: failure.text)
      case let failure as QUICFailure where failure.kind == .tls:
        TransportError.tlsHandshakeFailed(.other("the server ended the handshake (\(failure.text))"))
      case let failure as QUICFailure:
        failure.certificateCause(attempt.record.clientCertificate) ?? failure.transportError
      case is NameFailure:
        TransportError.hostNotFound(host: endpoint.host, reason: attempt.resolver.failure ?? "the name has no address")
      default: error
      }
    deliver(.failure(ConnectFailure(cause: attempt.explain(cause), record: attempt.progress)))
  }

  private func deliver(_ result: Result<EstablishedConnection, ConnectFailure>) {
    guard !isDelivered else { return }
    isDelivered = true
    attempt.worker = nil
    attempt.quicGaveUp = {}
    completion(result)
  }
}

extension Connector {
  /// As `connect`, over QUIC. The attempt that is returned can be given up, which is a failure like any other.
  ///
  /// - Parameter wantsEarlyData: The connection may be used before the handshake is complete, where the server permits it.
  func connectQUIC(
    to key: ConnectionKey, endpoint: QUICEndpoint, wantsEarlyData: Bool, on executor: LoopExecutor,
    for client: (any HandshakeClient)?, _ freshness: NameFreshness, _ completion: @escaping QUICDialing.Completion
  ) -> ConnectionAttempt {
    loop.assertInEventLoop()
    let attempt = makeAttempt(to: key, for: client, freshness)
    let dialing = QUICDialing(
      attempt, endpoint: endpoint, tickets: tls.tickets, wantsEarlyData: wantsEarlyData, executor: executor, completion)
    attempt.worker = dialing
    attempt.quicGaveUp = { [weak dialing] in dialing?.giveUp() }
    dialing.start()
    return attempt
  }
}
#endif

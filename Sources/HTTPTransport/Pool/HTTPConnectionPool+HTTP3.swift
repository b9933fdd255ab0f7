import HTTPSemantics
import NIOCore

/// Requests that may go over HTTP/3 wait for a QUIC connection first, and after a short head start for one over TCP too:
/// whichever is there first serves them (RFC 9114 §3.3, in the way of RFC 8305).
extension HTTPConnectionPool {
  /// The key of the QUIC connections that may serve a request in place of TCP; nil for none.
  func quicKey(for key: ConnectionKey, assumed: Bool) -> ConnectionKey? {
    let assumed = assumed || configuration.assumesHTTP3
    guard offersHTTP3, assumed || !alternatives.isEmpty, HTTPConnectionPool.mayGoOverQUIC(key) else { return nil }
    let endpoint =
      alternatives.http3Endpoint(for: key) ?? (assumed ? QUICEndpoint(host: key.host, port: key.port) : nil)
    guard let endpoint, outages.permits(endpoint, at: .now()) else { return nil }
    var made = key
    made.quic = endpoint
    return made
  }

  private static func mayGoOverQUIC(_ key: ConnectionKey) -> Bool {
    key.scheme == .https && key.allowsHTTP2 && key.proxy == nil && key.socketPath == nil && !key.requiresDNSSEC
      && key.forbiddenNetworks.isEmpty && key.identity == .none && key.isolation == 0 && key.quic == nil
  }

  /// Takes the waiter over when it may be served over HTTP/3. False when it is to wait for TCP alone.
  func joinRace(_ waiter: ConnectionWaiter) -> Bool {
    guard let handshake = waiter.handshake, let key = quicKey(for: waiter.key, assumed: waiter.assumesHTTP3),
      !waiter.changesProtocol || state.mayChangeProtocol(key)
    else { return false }
    if let exchange = leasedExchange(for: key) {
      waiter.succeed(exchange)
      return true
    }
    let isBeingMade = !state.attempts(of: key).isEmpty
    // The connection that is there serves this request, and the next one finds the other.
    if !handshake.mayBeAsked, mayServe(waiter), let exchange = leasedExchange(for: waiter.key) {
      if !isBeingMade {
        let place = enqueue(waiter, for: key)
        perform()
        leave(place, of: waiter, key: key)
      }
      waiter.succeed(exchange)
      return true
    }
    waiter.quicPlace = (enqueue(waiter, for: key), key)
    // One that waits for a stream of a connection that works needs no other way.
    if isBeingMade { giveHeadStart(waiter) }
    perform()
    return true
  }

  // MARK: HTTPS records

  /// Asks the DNS whether the server speaks HTTP/3, while its addresses are looked up for a connection over TCP.
  func askForOffer(for waiter: ConnectionWaiter) {
    executor.loop.assertInEventLoop()
    let key = waiter.key
    guard offersHTTP3, let records = configuration.serviceRecords, waiter.handshake != nil,
      HTTPConnectionPool.mayGoOverQUIC(key), ServiceRecords.mayExist(for: key.host),
      let question = alternatives.askForOffer(of: key)
    else { return }
    records.offer(host: key.host, port: key.port) { [weak self] offer in
      guard let self else { return }
      self.executor.loop.execute { self.answered(offer, to: question, about: key) }
    }
  }

  /// The offer is for later, unless it came before the addresses did: then a QUIC connection races the one over TCP, which
  /// has not been kept waiting.
  private func answered(_ offer: HTTP3Offer?, to question: HTTP3OfferTable.Question, about key: ConnectionKey) {
    executor.loop.assertInEventLoop()
    let isNoted = alternatives.note(offer, of: key, answering: question)
    guard isNoted, offer != nil, !state.isShutDown, let quicKey = quicKey(for: key, assumed: false),
      !state.attempts(of: key).contains(where: { attempts[$0]?.isConnecting != false })
    else { return }
    // An app that may be asked about the server would be asked about both connections.
    for waiter in waitersForTCP(key)
    where waiter.handshake?.mayBeAsked == false && waiter.quicPlace == nil && !waiter.changesProtocol {
      waiter.quicPlace = (enqueue(waiter, for: quicKey), quicKey)
    }
    perform()
  }

  /// A QUIC connection is begun: TCP is tried beside it when it takes too long.
  func giveHeadStarts(to key: ConnectionKey) { for waiter in waiters(for: key) { giveHeadStart(waiter) } }

  private func giveHeadStart(_ waiter: ConnectionWaiter) {
    guard waiter.headStart == nil, waiter.queuePlace == nil else { return }
    waiter.headStart = executor.loop.assumeIsolated().scheduleTask(in: configuration.http3HeadStart) {
      [weak self, weak waiter] () -> Void in
      if let self, let waiter { self.joinTCP(waiter) }
    }
  }

  /// The head start is over, or there is nothing to wait for.
  func joinTCP(_ waiter: ConnectionWaiter) {
    waiter.headStart?.cancel()
    waiter.headStart = nil
    guard !waiter.isSettled, waiter.queuePlace == nil, waiter.tcpFailure == nil, !state.isShutDown else { return }
    guard mayServe(waiter) else {
      // It waits for the other way, where it still may.
      return waiter.quicPlace == nil ? waiter.fail(TransportError.requiresHTTP1) : ()
    }
    if let exchange = leasedExchange(for: waiter.key) {
      leaveQueues(waiter)
      return waiter.succeed(exchange)
    }
    waiter.joined(enqueue(waiter, for: waiter.key))
    perform()
  }

  /// Takes the waiter out of every queue it is in.
  func leaveQueues(_ waiter: ConnectionWaiter) {
    waiter.headStart?.cancel()
    waiter.headStart = nil
    if let (place, key) = waiter.quicPlace {
      waiter.served(at: place)
      leave(place, of: waiter, key: key)
    }
    if let place = waiter.queuePlace {
      waiter.served(at: place)
      leave(place, of: waiter, key: waiter.key)
    }
  }

  /// A QUIC connection came about, or did not.
  ///
  /// - Parameter network: The number of the network on which it was begun.
  func quicConnected(_ key: ConnectionKey, begunOn network: Int, _ failure: ConnectFailure?) {
    guard let endpoint = key.quic else { return }
    guard let failure else {
      // The rest wait for streams of it.
      for waiter in waiters(for: key) {
        waiter.headStart?.cancel()
        waiter.headStart = nil
      }
      return outages.worked(endpoint)
    }
    let isJudgedByApp =
      HTTPConnectionPool.isVerdict(failure.cause) && waiters(for: key).contains { $0.handshake?.mayBeAsked == true }
    switch failure.cause {
    // It was given up: nothing was learned of the server, and those that wait have another one made.
    case TransportError.shutDown: return
    // It was reached, and the app may answer otherwise the next time.
    case _ where isJudgedByApp: break
    default: failed(endpoint, key, begunOn: network)
    }
    for waiter in waiters(for: key) {
      if let (place, key) = waiter.quicPlace { leave(place, of: waiter, key: key) }
      waiter.quicPlace = nil
      if let failure = waiter.tcpFailure {
        waiter.fail(failure.cause, failure.record)
      } else if waiter.handshake?.mayBeAsked == true, HTTPConnectionPool.isVerdict(failure.cause) {
        // The app has judged the server: it is not asked about the same one again.
        leaveQueues(waiter)
        waiter.fail(failure.cause, failure.record)
      } else {
        joinTCP(waiter)
      }
    }
  }

  private static func isVerdict(_ error: any Error) -> Bool {
    switch error {
    case TransportError.refused, TransportError.tlsHandshakeFailed(.clientCertificateRequired),
      TransportError.tlsHandshakeFailed(.clientCertificateRejected):
      true
    default: false
    }
  }

  /// Requests were sent over a connection that never came about.
  func failedEarly(_ endpoint: QUICEndpoint, _ key: ConnectionKey, begunOn network: Int) {
    executor.loop.assertInEventLoop()
    failed(endpoint, key, begunOn: network)
  }

  /// Later loads wait for no head start at such a place, nor at one that only the DNS tells of when the outage is over. Not so
  /// where the connection was begun on another network, which says nothing of this one.
  private func failed(_ endpoint: QUICEndpoint, _ key: ConnectionKey, begunOn network: Int) {
    guard network == self.network else { return }
    outages.failed(endpoint, at: .now())
    alternatives.withdrawOffer(of: key)
    watchNetwork()
  }

  /// The name of the alternative service that a connection leads to, as Alt-Used has it (RFC 7838 §5); nil where the server
  /// has announced no such service.
  func announcedName(of key: ConnectionKey) -> String? {
    guard let endpoint = key.quic else { return nil }
    let isAnnounced = alternatives.services(for: key).contains {
      $0.protocolName == "h3" && ($0.host ?? key.host) == endpoint.host && $0.port == endpoint.port
    }
    guard isAnnounced else { return nil }
    let host = endpoint.host.utf8.contains(UInt8(ascii: ":")) ? "[\(endpoint.host)]" : endpoint.host
    return endpoint.port == 443 ? host : "\(host):\(endpoint.port)"
  }

  // MARK: The machine's network

  /// As long as there is something that another network would change.
  func watchNetwork() {
    executor.loop.assertInEventLoop()
    guard networkToken == nil, !state.isShutDown else { return }
    networkToken = configuration.networks.add { [weak self] in
      guard let self else { return }
      self.executor.loop.execute { self.networkChanged() }
    }
  }

  func unwatchNetwork() {
    guard let networkToken else { return }
    self.networkToken = nil
    configuration.networks.remove(networkToken)
  }

  /// HTTP/3 may work over this network where it did not over the last, and connections go on from another address.
  private func networkChanged() {
    executor.loop.assertInEventLoop()
    network += 1
    outages.removeAll()
    #if HTTP3
    let all = connections.compactMap { $0 as? HTTP3Connection }
    for connection in all { connection.networkChanged() }
    #else
    let all: [any PooledConnection] = []
    #endif
    if all.isEmpty { unwatchNetwork() }
  }
}

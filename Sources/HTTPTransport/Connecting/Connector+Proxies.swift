import HTTPSemantics
import NIOCore
import NIOSSL
import SystemServices

extension Connector {
  /// Speaks to the proxy that `channel` leads to until bytes pass through it, and then begins TLS with the server.
  ///
  /// - Parameter isSecured: The channel has TLS with the proxy already.
  func passProxy(
    _ hop: ProxyHop, on channel: any Channel, isSecured: Bool = false, _ attempt: ConnectionAttempt
  ) -> EventLoopFuture<any Channel> {
    let key = attempt.key
    let server = hop.server
    let isSecured = isSecured || server.kind != .https
    return addressForProxy(hop, attempt)
      .flatMap { (address: [UInt8]?) -> EventLoopFuture<ByteBuffer> in
        let outcome = self.loop.makePromise(of: ByteBuffer.self)
        guard channel.isActive else {
          outcome.fail(ProxyFailure(server, .silent))
          return outcome.futureResult
        }
        do {
          if !isSecured {
            let context = try self.tls.proxyContext(offersHTTP2: key.asksProxySecurely && key.allowsHTTP2)
            let handler = try NIOSSLClientHandler(
              context: context, serverHostname: Connector.serverName(server.host))
            try channel.pipeline.syncOperations.addHandler(handler)
          }
          let negotiation = Connector.negotiation(hop, key, address: address)
          let handler = ProxyNegotiationHandler(
            server, negotiation, isSecured: isSecured, patience: self.proxyPatience, outcome: outcome)
          handler.agreed = { attempt.record.protocolName = $0 }
          try channel.pipeline.syncOperations.addHandler(handler)
        } catch { outcome.fail(ProxyFailure(server, .insecure(reason: "\(error)"))) }
        return outcome.futureResult
      }
      .flatMapThrowing { early in
        // Neither TLS nor HTTP lets the server speak first: such bytes are an attempt to slip something in.
        guard early.readableBytes == 0 || !attempt.isForHTTP else {
          throw ProxyFailure(server, .malformed(reason: "it goes on where the server should be silent"))
        }
        attempt.earlyBytes = early
        attempt.isPastProxy = true
        if key.scheme == .https { try attempt.addTLS(to: channel, self.tls) }
        return channel
      }
      .flatMapErrorThrowing { error in
        channel.close(promise: nil)
        throw error
      }
  }

  /// Waits for a tunnel in a stream of the proxy's connection, and then begins TLS with the server. A proxy that speaks
  /// HTTP/1.1 is asked for a tunnel on the connection that was made for it.
  func enter(
    _ tunnel: TunnelOpening, _ attempt: ConnectionAttempt,
    _ connect: @escaping (CInt) -> EventLoopFuture<any Channel>
  ) -> EventLoopFuture<any Channel> {
    let promise = loop.makePromise(of: (any Channel).self)
    attempt.tunnel = tunnel
    tunnel.start { result in
      switch result {
      case .failure(let error): promise.fail(error)
      case .success(.connection(let channel, let record)):
        attempt.record.noteCarrier(record)
        guard let hop = attempt.key.proxy, (try? attempt.opened(channel)) != nil else {
          channel.close(promise: nil)
          return promise.fail(TransportError.shutDown)
        }
        self.passProxy(hop, on: channel, isSecured: true, attempt).cascade(to: promise)
      case .success(.stream(let descriptor, let record)):
        attempt.carrier = record
        connect(descriptor).assumeIsolated().flatMapThrowing { channel in
          channel.closeFuture.assumeIsolated().whenComplete { _ in tunnel.connectionEnded() }
          attempt.isPastProxy = true
          do { if attempt.key.scheme == .https { try attempt.addTLS(to: channel, self.tls) } } catch {
            channel.close(promise: nil)
            throw error
          }
          return channel
        }.nonisolated().flatMapErrorThrowing { error in
          // The stream ends too where no channel came to be whose end would tell.
          tunnel.connectionEnded()
          throw error
        }.cascade(to: promise)
      }
    }
    return promise.futureResult
  }

  /// SOCKS 4 takes nothing but addresses of IPv4, so a name is resolved here, within the time that the connection has. nil
  /// in every other case.
  private func addressForProxy(_ hop: ProxyHop, _ attempt: ConnectionAttempt) -> EventLoopFuture<[UInt8]?> {
    let host = attempt.key.host
    guard hop.server.kind == .socks4, IPAddressText(host) == nil else {
      return loop.makeSucceededFuture(nil)
    }
    guard !attempt.isGivenUp else { return loop.makeFailedFuture(TransportError.shutDown) }
    let resolver = SystemResolver(loop: loop, names: names)
    attempt.proxyLookup = resolver
    let found = loop.makePromise(of: [NetworkAddress].self)
    let timer = loop.assumeIsolated().scheduleTask(deadline: attempt.started + connectTimeout) { resolver.cancel() }
    resolver.start(host, families: [.v4]) { _, addresses in found.succeed(addresses) }
    return found.futureResult.assumeIsolated().flatMapThrowing { addresses in
      timer.cancel()
      attempt.proxyLookup = nil
      guard !attempt.isGivenUp else { throw TransportError.shutDown }
      guard let address = addresses.first else {
        let reason =
          resolver.failure ?? (resolver.ended == nil ? "no answer in time" : "the name has no address of IPv4")
        throw ProxyFailure(hop.server, .unsuitable(reason: "SOCKS 4 needs an address of \(host): \(reason)"))
      }
      return address.bytes
    }.nonisolated()
  }

  private static func negotiation(_ hop: ProxyHop, _ key: ConnectionKey, address: [UInt8]?) -> any ProxyNegotiation {
    switch (hop.use, hop.server.kind) {
    case (.forward, _): NoNegotiation()
    case (.tunnel, .http), (.tunnel, .https): ConnectNegotiation(hop, host: key.host, port: key.port)
    case (.tunnel, .socks5): SOCKS5Negotiation(hop.server, host: key.host, port: key.port)
    case (.tunnel, .socks4), (.tunnel, .socks4a):
      SOCKS4Negotiation(hop.server, host: key.host, port: key.port, address: address)
    }
  }
}

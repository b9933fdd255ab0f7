import HTTPSemantics
import NIOCore
import NIOPosix
import SystemServices

/// Opens connections: name lookup and Happy Eyeballs (RFC 8305, by `AddressDialing`), TLS with ALPN. Used on its loop.
final class Connector: Sendable {
  let loop: any EventLoop
  let tls: TLSContexts
  private let usesMultipath: Bool
  private let networks: any NetworkDescribing
  let names: NameLookups
  private let provenNames: ProvenNames
  let proxyPatience: TimeAmount
  let connectTimeout: TimeAmount

  init(loop: any EventLoop, tls: TLSContexts, _ configuration: TransportConfiguration) {
    self.loop = loop
    self.tls = tls
    usesMultipath = configuration.usesMultipath && MultipathTCP.isSupported
    networks = configuration.networks
    names = configuration.names
    provenNames = configuration.provenNames
    proxyPatience = configuration.proxyPatience
    connectTimeout = configuration.connectTimeout
  }

  /// Calls `completion` once. The attempt that is returned can be given up, which is a failure like any other.
  ///
  /// - Parameters:
  ///   - isForHTTP: The server is silent until it is asked something.
  ///   - tunnel: Opens the way through the proxy in place of a connection to it.
  func connect(
    to key: ConnectionKey, for client: (any HandshakeClient)? = nil, _ freshness: NameFreshness = .current,
    isForHTTP: Bool = true, through tunnel: TunnelOpening? = nil,
    _ completion: @escaping (Result<EstablishedConnection, ConnectFailure>) -> Void
  ) -> ConnectionAttempt {
    loop.assertInEventLoop()
    let attempt = makeAttempt(to: key, for: client, freshness)
    attempt.isForHTTP = isForHTTP
    let isSecure = key.scheme == .https
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(connectTimeout)
      .enableMPTCP(usesMultipath && key.socketPath == nil)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try Connector.setOptions(of: channel, isSecure: isSecure)
          SocketMarks.tune(channel)
          try attempt.opened(channel)
          SocketMarks.mark(channel, key.trafficClass)
          guard isSecure, key.proxy == nil else { return }
          do { try attempt.addTLS(to: channel, self.tls) } catch { throw AddressDialing.Unprepared(cause: error) }
        }
      }
    attempt.record.connectStart = .now()
    let (host, port) = key.dialled
    func dial() -> EventLoopFuture<any Channel> {
      if let path = key.socketPath { return bootstrap.connect(unixDomainSocketPath: path) }
      // While the authorities were read.
      guard !attempt.isGivenUp else { return loop.makeFailedFuture(TransportError.shutDown) }
      guard let address = try? SocketAddress(ipAddress: host, port: port) else {
        return AddressDialing(attempt, limit: connectTimeout) { bootstrap.connect(to: $0) }.start()
      }
      guard let access = attempt.access, let destination = NetworkAddress(address) else {
        return bootstrap.connect(to: address)
      }
      return BlockingWork.networks.runIfActive(eventLoop: loop) { _ = try access.permitted([destination]) }
        .assumeIsolated().flatMap { bootstrap.connect(to: address) }.nonisolated()
    }
    func reach() -> EventLoopFuture<any Channel> {
      if let tunnel { return enter(tunnel, attempt) { bootstrap.withConnectedSocket($0) } }
      guard let hop = key.proxy else { return dial() }
      return dial().flatMap { channel in self.passProxy(hop, on: channel, attempt) }
    }
    let connecting = prepareTLS(attempt).map { $0.assumeIsolated().flatMap { reach() }.nonisolated() } ?? reach()
    connecting
      .flatMap { channel in isSecure ? attempt.secured(channel) : self.loop.makeSucceededFuture(channel) }
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel): completion(.success(attempt.established(channel)))
        case .failure(let error):
          completion(.failure(ConnectFailure(cause: attempt.explain(error), record: attempt.progress)))
        }
      }
    return attempt
  }

  /// Here and not by the bootstrap, which makes several futures for each option.
  private static func setOptions(of channel: any Channel, isSecure: Bool) throws {
    guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
    try options.setOption(.autoRead, value: false)
    try options.setOption(.recvAllocator, value: isSecure ? secureReceiveBuffers : receiveBuffers)
    try options.setOption(.maxMessagesPerRead, value: UInt(isSecure ? 1 : 4))
    try options.setOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
  }

  func makeAttempt(
    to key: ConnectionKey, for client: (any HandshakeClient)?, _ freshness: NameFreshness
  ) -> ConnectionAttempt {
    ConnectionAttempt(
      loop: loop, key: key, client: client, usesMultipath: usesMultipath, networks: networks,
      names: names, freshness: freshness, provenNames: provenNames)
  }

  /// Reads what the attempt needs before it may begin TLS; nil for nothing.
  private func prepareTLS(_ attempt: ConnectionAttempt) -> EventLoopFuture<Void>? {
    let key = attempt.key
    var pending: [EventLoopFuture<Void>] = []
    if key.scheme == .https, attempt.client == nil,
      let reading = tls.prepareUnattended(offersHTTP2: key.allowsHTTP2, on: loop)
    {
      pending.append(reading)
    }
    if let proxy = key.proxy?.server, proxy.kind == .https,
      let reading = tls.prepareUnattended(offersHTTP2: key.asksProxySecurely && key.allowsHTTP2, on: loop)
    {
      pending.append(
        reading.flatMapErrorThrowing { error in throw ProxyFailure(proxy, .insecure(reason: "\(error)")) })
    }
    return pending.isEmpty ? nil : EventLoopFuture.andAllSucceed(pending, on: loop)
  }

  /// Small reads for small answers; grows to half a megabyte while a body keeps filling it. SwiftNIO copies all of a channel's
  /// first buffer at its first read, and the connection keeps the copy.
  private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 4 * 1024, initial: 4 * 1024, maximum: 512 * 1024)

  /// Under TLS everything that one turn of the loop reads becomes one chunk of plaintext, made in a buffer of its own:
  /// one read a turn, and no larger than it must be for few turns, keeps a large body within little memory.
  private static let secureReceiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 4 * 1024, initial: 16 * 1024, maximum: 256 * 1024)

  /// The name for TLS (RFC 6066 §3): without a trailing dot; an address, with or without a zone, has none.
  static func serverName(_ host: String) -> String? {
    let name = host.last == "." ? String(host.dropLast()) : host
    return name.isEmpty || name.utf8.contains(UInt8(ascii: ":")) || IPAddressText(name) != nil ? nil : name
  }
}

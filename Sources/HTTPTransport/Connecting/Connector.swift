import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A connection that is ready for HTTP: connected, and through the TLS handshake where there is one.
struct EstablishedConnection {
  let channel: any Channel
  let record: ConnectionRecord
}

/// Opens connections: name lookup, Happy Eyeballs (RFC 8305, by NIO), TLS with ALPN. Confined to its loop.
final class Connector: @unchecked Sendable {
  private let loop: any EventLoop
  private let tls: TLSContexts
  /// Far above any patience: a load's own timers end its wait sooner.
  private let connectTimeout: TimeAmount = .minutes(2)

  init(loop: any EventLoop, tls: TLSContexts) {
    self.loop = loop
    self.tls = tls
  }

  func connect(
    to key: ConnectionKey, _ completion: @escaping (Result<EstablishedConnection, any Error>) -> Void
  ) {
    let attempt = Attempt(loop: loop, key: key)
    let secure: NIOSSLContext?
    do { secure = key.scheme == .https ? try tls.clientContext() : nil } catch {
      return completion(.failure(TransportError.tlsHandshakeFailed(.other("\(error)"))))
    }
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(connectTimeout)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.autoRead, value: false)
      .channelOption(.recvAllocator, value: Connector.receiveBuffers)
      .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let secure {
            let name = Connector.isAddress(key.host) ? nil : key.host
            let handler = try NIOSSLClientHandler(context: secure, serverHostname: name)
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.pipeline.syncOperations.addHandler(HandshakeObserver(attempt: attempt))
          }
        }
      }
    attempt.record.connectStart = .now()
    let connecting: EventLoopFuture<any Channel>
    if let address = try? SocketAddress(ipAddress: key.host, port: key.port) {
      connecting = bootstrap.connect(to: address)
    } else {
      connecting = bootstrap.resolver(attempt.resolver).connect(host: key.host, port: key.port)
    }
    connecting
      .flatMap { channel in secure == nil ? self.loop.makeSucceededFuture(channel) : attempt.secured(channel) }
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel): completion(.success(attempt.established(channel)))
        case .failure(let error): completion(.failure(attempt.explain(error)))
        }
      }
  }

  /// Small reads for small answers; grows to half a megabyte while a body keeps filling it.
  private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 4 * 1024, initial: 16 * 1024, maximum: 512 * 1024)

  private static func isAddress(_ host: String) -> Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }
}

/// One attempt to connect: collects the dates and explains the failure. Confined to its loop.
private final class Attempt: @unchecked Sendable {
  let key: ConnectionKey
  let resolver: SystemResolver
  var record = ConnectionRecord()
  private let handshake: EventLoopPromise<Void>
  private var handshakeIsSettled = false

  init(loop: any EventLoop, key: ConnectionKey) {
    self.key = key
    resolver = SystemResolver(loop: loop)
    handshake = loop.makePromise(of: Void.self)
    if key.scheme == .http { settle(.success(())) }
  }

  /// The TCP connection is there; waits for the handshake that runs on it.
  func secured(_ channel: any Channel) -> EventLoopFuture<any Channel> {
    handshake.futureResult.map { channel }.flatMapErrorThrowing { error in
      channel.close(promise: nil)
      throw error
    }
  }

  func settle(_ outcome: Result<Void, any Error>) {
    guard !handshakeIsSettled else { return }
    handshakeIsSettled = true
    handshake.completeWith(outcome)
  }

  func established(_ channel: any Channel) -> EstablishedConnection {
    fillLookup()
    record.connectEnd = .now()
    record.localAddress = channel.localAddress
    record.remoteAddress = channel.remoteAddress
    if key.scheme == .https,
      let version = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        .tlsVersion
    {
      record.tlsVersion = Attempt.number(of: version)
    }
    return EstablishedConnection(channel: channel, record: record)
  }

  private func fillLookup() {
    guard let started = resolver.started else { return }
    record.domainLookupStart = started
    record.domainLookupEnd = resolver.ended
    // The connection proper starts when the name has become an address.
    record.connectStart = resolver.ended ?? record.connectStart
  }

  private static func number(of version: TLSVersion) -> UInt16? {
    switch version {
    case .tlsv1: 0x0301
    case .tlsv11: 0x0302
    case .tlsv12: 0x0303
    case .tlsv13: 0x0304
    }
  }

  func explain(_ error: any Error) -> any Error {
    settle(.failure(error))
    switch error {
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty {
        return TransportError.hostNotFound(host: key.host, reason: resolver.failure ?? "the name has no address")
      }
      return explain(connectionErrors: error.connectionErrors.map(\.error))
    case is ChannelError, is IOError: return explain(connectionErrors: [error])
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return TransportError.tlsHandshakeFailed(.wrongHost)
    case NIOSSLError.handshakeFailed(let reason):
      let text = "\(reason)"
      return TransportError.tlsHandshakeFailed(
        text.contains("CERTIFICATE_VERIFY_FAILED") ? .untrustedRoot : .other(text))
    case let error as TransportError: return error
    default: return TransportError.tlsHandshakeFailed(.other("\(error)"))
    }
  }

  private func explain(connectionErrors: [any Error]) -> TransportError {
    let codes = connectionErrors.compactMap { ($0 as? IOError)?.errnoCode }
    // Every attempt met "network is unreachable": there is no route, rather than no server.
    if !codes.isEmpty, codes.count == connectionErrors.count, codes.allSatisfy({ $0 == ENETUNREACH || $0 == ENETDOWN })
    {
      return .networkUnreachable
    }
    let reason = connectionErrors.first.map { "\($0)" } ?? "no reason given"
    return .cannotConnect(host: key.host, port: key.port, reason: reason)
  }
}

/// Sits behind the TLS handler until the handshake has ended one way or the other.
private final class HandshakeObserver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let attempt: Attempt

  init(attempt: Attempt) { self.attempt = attempt }

  func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    attempt.record.secureConnectionStart = .now()
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted(let protocolName) = event {
      attempt.record.secureConnectionEnd = .now()
      if let protocolName { attempt.record.protocolName = protocolName }
      attempt.settle(.success(()))
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    attempt.settle(.failure(error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    attempt.settle(.failure(TransportError.tlsHandshakeFailed(.other("the server closed the connection"))))
    context.fireChannelInactive()
  }
}

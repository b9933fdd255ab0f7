import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A connection that is ready for HTTP: connected, and through the TLS handshake where there is one.
struct EstablishedConnection {
  let channel: any Channel
  let record: ConnectionRecord
}

/// Why there is no connection, and how far it got.
struct ConnectFailure: Error {
  let cause: any Error
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

  /// Calls `completion` once. The attempt that is returned can be given up, which is a failure like any other.
  func connect(
    to key: ConnectionKey, for client: (any HandshakeClient)? = nil,
    _ completion: @escaping (Result<EstablishedConnection, ConnectFailure>) -> Void
  ) -> ConnectionAttempt {
    let attempt = ConnectionAttempt(loop: loop, key: key, client: client)
    let isSecure = key.scheme == .https
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(connectTimeout)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.autoRead, value: false)
      .channelOption(.recvAllocator, value: Connector.receiveBuffers)
      .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try attempt.opened(channel)
          Connector.mark(channel, key.trafficClass)
          if isSecure { try attempt.addTLS(to: channel, self.tls) }
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

  /// Marks are wishes: a kernel or a family that does not take one changes nothing for the connection.
  private static func mark(_ channel: any Channel, _ trafficClass: TrafficClass) {
    guard trafficClass != .bestEffort, let options = channel.syncOptions else { return }
    let field = Int(trafficClass.dscp) << 2
    let marks: [(level: CInt, name: CInt, value: Int)] = [
      (CInt(IPPROTO_IP), IP_TOS, field), (CInt(IPPROTO_IPV6), IPV6_TCLASS, field),
      (SOL_SOCKET, SO_PRIORITY, Int(trafficClass.priority)),
    ]
    for mark in marks {
      let option = ChannelOptions.Types.SocketOption(
        level: NIOBSDSocket.OptionLevel(rawValue: mark.level), name: NIOBSDSocket.Option(rawValue: mark.name))
      try? options.setOption(option, value: numericCast(mark.value))
    }
  }

  /// Small reads for small answers; grows to half a megabyte while a body keeps filling it.
  private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 4 * 1024, initial: 16 * 1024, maximum: 512 * 1024)

  static func isAddress(_ host: String) -> Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }
}

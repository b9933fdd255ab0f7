import NIOCore

/// Sits before the TLS handler until the handshake is over. It notes the cipher suite in the server's first message,
/// and keeps what the server sends for the case that it asks for a certificate.
final class ServerHelloObserver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let attempt: ConnectionAttempt
  private var seen = ByteBuffer()
  private var isHelloOver = false
  private var isOver = false

  /// Far more than a chain of certificates and a list of authorities need.
  private static let limit = 256 * 1024

  init(attempt: ConnectionAttempt) { self.attempt = attempt }

  /// The server's messages so far.
  var flight: [UInt8] { Array(seen.readableBytesView) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isOver, seen.readableBytes < ServerHelloObserver.limit {
      // Several sockets may open at the same moment; one of them goes on.
      attempt.helloObserver = self
      seen.writeImmutableBuffer(unwrapInboundIn(data))
      if !isHelloOver { readHello() }
    }
    context.fireChannelRead(data)
    if !isOver, attempt.isSettled {
      isOver = true
      seen = ByteBuffer()
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
  }

  private func readHello() {
    switch ServerHello.read(seen.readableBytesView) {
    case .needsMore: break
    case .found(let hello):
      attempt.record.tlsCipherSuite = hello.cipherSuite
      isHelloOver = true
    case .isNone: isHelloOver = true
    }
  }
}

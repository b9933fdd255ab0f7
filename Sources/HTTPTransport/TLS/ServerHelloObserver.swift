import NIOCore

/// Sits before the TLS handler until the server's first message has passed, and notes the cipher suite in it.
final class ServerHelloObserver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let attempt: ConnectionAttempt
  private var seen = ByteBuffer()
  private var isOver = false

  init(attempt: ConnectionAttempt) { self.attempt = attempt }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isOver {
      seen.writeImmutableBuffer(unwrapInboundIn(data))
      switch ServerHello.read(seen.readableBytesView) {
      case .needsMore: break
      case .found(let hello):
        attempt.record.tlsCipherSuite = hello.cipherSuite
        isOver = true
      case .isNone: isOver = true
      }
    }
    context.fireChannelRead(data)
    if isOver { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }
}

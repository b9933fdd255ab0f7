import Glibc
import NIOCore
import NIOTLS

/// Sits behind the TLS handler until the handshake has ended one way or the other.
final class HandshakeObserver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let attempt: ConnectionAttempt

  init(attempt: ConnectionAttempt) { self.attempt = attempt }

  func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    // The first of several sockets wins; another that opens in the same moment is closed again.
    if attempt.record.secureConnectionStart == nil {
      attempt.record.secureConnectionStart = .now()
      attempt.record.localAddress = context.channel.localAddress
      attempt.record.remoteAddress = context.channel.remoteAddress
    }
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
    switch error {
    // The server took the connection: what breaks it now breaks the handshake.
    case let error as IOError: fail("the connection broke (\(String(cString: strerror(error.errnoCode))))")
    case is ChannelError: fail("the connection broke (\(error))")
    default: attempt.settle(.failure(error))
    }
    context.close(promise: nil)
  }

  private func fail(_ reason: String) {
    attempt.settle(.failure(TransportError.tlsHandshakeFailed(.other(reason))))
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail("the server closed the connection")
    context.fireChannelInactive()
  }
}

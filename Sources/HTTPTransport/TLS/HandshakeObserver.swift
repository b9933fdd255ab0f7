import Glibc
import NIOCore
import NIOSSL
import NIOTLS

/// Sits behind the TLS handler until the handshake has ended one way or the other.
final class HandshakeObserver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let attempt: ConnectionAttempt
  /// The handler of the same channel: an attempt may have several sockets, and one of them wins.
  private weak var handler: NIOSSLClientHandler?
  /// Whether this socket was the first to come up: the end of another one says nothing of the handshake.
  private var isWinner = false

  /// Called when the handshake is complete.
  private let completed: () -> Void

  init(attempt: ConnectionAttempt, handler: NIOSSLClientHandler, _ completed: @escaping () -> Void) {
    self.attempt = attempt
    self.handler = handler
    self.completed = completed
  }

  func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  /// Without the handshake's end the channel is gone.
  func handlerRemoved(context: ChannelHandlerContext) { fail("the connection was closed") }

  private func begin(_ context: ChannelHandlerContext) {
    // The first of several sockets wins; another that opens in the same moment is closed again.
    if attempt.record.secureConnectionStart == nil {
      isWinner = true
      attempt.record.secureConnectionStart = .now()
      attempt.record.localAddress = context.channel.localAddress
      attempt.record.remoteAddress = context.channel.remoteAddress
    }
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted(let protocolName) = event {
      attempt.record.secureConnectionEnd = .now()
      attempt.record.tlsVersion = handler?.tlsVersion?.wireNumber
      attempt.record.serverCertificate = handler?.peerCertificate.map { ServerCertificate($0) }
      if let protocolName { attempt.record.protocolName = protocolName }
      attempt.settle(.success(()))
      completed()
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    // The server took the connection: what breaks it now breaks the handshake.
    case let error as IOError: fail(String(cString: strerror(error.errnoCode)))
    case is ChannelError: fail("\(error)")
    default: attempt.settle(.failure(error))
    }
    context.close(promise: nil)
  }

  private func fail(_ reason: String) {
    guard isWinner else { return }
    let failure = TLSLibraryFailure(.connectionEnded, text: reason)
    attempt.settle(.failure(TransportError.tlsHandshakeFailed(.library(failure))))
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail("the connection was closed")
    context.fireChannelInactive()
  }
}

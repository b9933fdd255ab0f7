import NIOCore
import NIOTLS

/// Bytes that came in on a connection and that its script has not read yet.
struct Inbox: Sendable {
  /// More than this unread stops reading from the socket, so that a server that does not read slows its client.
  static let limit = 256 * 1024

  var bytes = ByteBuffer()
  var isPaused = false
  var hasEnded = false
}

/// Moves bytes from the channel into the connection's inbox, as long as there is room. Confined to its event loop.
final class InboxHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let connection: ServerConnection

  init(connection: ServerConnection) {
    self.connection = connection
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    connection.inbox.update { inbox in
      if inbox.bytes.readableBytes == 0 {
        inbox.bytes = bytes
      } else {
        inbox.bytes.writeImmutableBuffer(bytes)
      }
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    let hasRoom = connection.inbox.update { inbox -> Bool in
      inbox.isPaused = inbox.bytes.readableBytes >= Inbox.limit
      return !inbox.isPaused
    }
    if hasRoom { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as TLSUserEvent:
      if case .handshakeCompleted(let negotiated) = event {
        connection.handshakeCompleted(negotiatedProtocol: negotiated)
        if negotiated == "h2", let front = connection.http2 { return becomeHTTP2(context, front) }
      }
    case let event as ChannelEvent where event == .inputClosed:
      connection.inbox.update { $0.hasEnded = true }
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func becomeHTTP2(_ context: ChannelHandlerContext, _ front: HTTP2Front) {
    do { try front.install(on: context.channel) } catch {
      connection.channelFailed(error)
      return context.close(promise: nil)
    }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    connection.channelFailed(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    connection.inbox.update { $0.hasEnded = true }
    context.fireChannelInactive()
  }
}

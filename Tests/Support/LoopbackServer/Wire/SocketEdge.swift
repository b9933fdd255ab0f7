import Glibc
import NIOCore
import NIOPosix

/// The handler next to the socket: closes it without asking the handlers in between, TLS above all.
///
/// Confined to its channel's event loop.
final class SocketEdge: ChannelDuplexHandler {
  typealias InboundIn = NIOAny
  typealias OutboundIn = NIOAny

  private let greeting: ConnectionGreeting
  private var context: ChannelHandlerContext?
  private var hasFinished = false

  init(greeting: ConnectionGreeting) {
    self.greeting = greeting
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func channelActive(context: ChannelHandlerContext) {
    switch greeting {
    case .serve, .stall: context.fireChannelActive()
    case .close: context.close(promise: nil)
    case .reset: reset()
    }
  }

  /// Sends FIN (RST if unread bytes lie in the socket) and nothing else: TLS sends no close_notify.
  func closeAbruptly() {
    context?.eventLoop.assertInEventLoop()
    context?.close(promise: nil)
  }

  /// Sends FIN and nothing else, and hands nothing on any more. The channel closes when the client does.
  func finishAbruptly() {
    context?.eventLoop.assertInEventLoop()
    hasFinished = true
    context?.close(mode: .output, promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !hasFinished { context.fireChannelRead(data) }
  }

  /// Sends RST: with a linger time of zero the kernel throws away what it has not sent and resets the connection.
  func reset() {
    guard let context else { return }
    context.eventLoop.assertInEventLoop()
    if let options = context.channel as? any SocketOptionProvider {
      // On the channel's own loop the option is set before the call returns.
      options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in }
    }
    context.close(promise: nil)
  }
}

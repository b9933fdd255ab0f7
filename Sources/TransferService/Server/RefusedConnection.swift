import Foundation
import NIOCore
import TransferProtocol

/// A connection that is not served: its first request is answered with the reason, and it is closed. It is too many for its
/// program, or its program can't be looked at now, or the service can't serve yet.
///
/// Confined to the channel's loop.
final class RefusedConnection: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  // Sendable by hand: what changes is confined to the loop, which is asserted.
  private let channel: any Channel
  private let refusal: @Sendable () -> Refusal
  private let timeLimit: TimeAmount
  private var decoder = MessageDecoder<ClientMessage>(lengthLimit: 4 << 10)
  private var timer: Scheduled<Void>?
  private var isAnswered = false

  init(_ channel: any Channel, timeLimit: TimeAmount, _ refusal: @escaping @Sendable () -> Refusal) {
    self.channel = channel
    self.timeLimit = timeLimit
    self.refusal = refusal
  }

  func handlerAdded(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    timer = channel.eventLoop.scheduleTask(in: timeLimit) { [channel] in channel.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    channel.eventLoop.assertInEventLoop()
    guard !isAnswered else { return }
    decoder.append(unwrapInboundIn(data).readableBytesView)
    do {
      guard let message = try decoder.next() else { return }
      isAnswered = true
      let frame = try MessageFraming.frame(ServiceMessage.reply(to: message.id, .refused(refusal())))
      channel.writeAndFlush(ByteBuffer(bytes: frame)).whenComplete { [channel] _ in channel.close(promise: nil) }
    } catch { channel.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    channel.eventLoop.assertInEventLoop()
    timer?.cancel()
    timer = nil
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    channel.eventLoop.assertInEventLoop()
    channel.close(promise: nil)
  }
}

extension ConnectionQuota.Exceeded {
  /// Of a connection that is too many. The app may ask again later.
  var refusal: Refusal { .tooManyConnections("\(self). There is room once some of them are closed.") }
}

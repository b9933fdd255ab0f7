import NIOCore
import NIOHPACK
import NIOHTTP2

/// One stream of an HTTP/2 connection, as a conversation sees it.
final class ServerStream: Sendable {
  struct Inbox: Sendable {
    static let limit = 256 * 1024

    var head: HPACKHeaders?
    var bytes = ByteBuffer()
    var trailers: HPACKHeaders?
    var isPaused = false
    /// The client has sent all of its request.
    var hasEnded = false
    /// The client has reset the stream or is gone.
    var isClosed = false
  }

  let channel: any Channel
  let inbox = Monitor(Inbox())

  init(channel: any Channel) { self.channel = channel }

  /// nil when the client reset the stream first.
  func head() async throws -> HPACKHeaders? {
    try await inbox.wait { inbox -> HPACKHeaders?? in
      if let head = inbox.head { return .some(head) }
      return inbox.isClosed ? .some(nil) : nil
    }
  }

  /// The next bytes of the request's body; nil at its end, complete or not.
  func read() async throws -> ByteBuffer? {
    let (bytes, mayResume) = try await inbox.wait { inbox -> (ByteBuffer?, Bool)? in
      guard inbox.bytes.readableBytes > 0 else { return inbox.hasEnded || inbox.isClosed ? (nil, false) : nil }
      defer {
        inbox.bytes = ByteBuffer()
        inbox.isPaused = false
      }
      return (inbox.bytes, inbox.isPaused)
    }
    if mayResume { channel.read() }
    return bytes
  }

  func write(_ payload: HTTP2Frame.FramePayload) async throws {
    try await channel.writeAndFlush(payload).get()
  }
}

/// Moves what the client sends on a stream into its inbox, as long as there is room.
final class HTTP2StreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload

  private let stream: ServerStream

  init(stream: ServerStream) { self.stream = stream }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let headers):
      stream.inbox.update { inbox in
        if inbox.head == nil { inbox.head = headers.headers } else { inbox.trailers = headers.headers }
        inbox.hasEnded = headers.endStream
      }
    case .data(let data):
      guard case .byteBuffer(var bytes) = data.data else { return }
      let endsStream = data.endStream
      stream.inbox.update { [bytes] inbox in
        inbox.bytes.writeImmutableBuffer(bytes)
        if endsStream { inbox.hasEnded = true }
      }
      bytes.clear()
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    let hasRoom = stream.inbox.update { inbox -> Bool in
      inbox.isPaused = inbox.bytes.readableBytes >= ServerStream.Inbox.limit
      return !inbox.isPaused
    }
    if hasRoom { context.read() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    stream.inbox.update { $0.isClosed = true }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    stream.inbox.update { $0.isClosed = true }
    context.fireChannelInactive()
  }
}

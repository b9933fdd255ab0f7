import DequeModule
import NIOCore

/// A channel as a `DuplexStream`: the handler at the end of its pipeline. Confined to the channel's loop.
///
/// Bytes are read ahead up to `readAhead`, so that the peer's closing is noticed while nobody reads.
final class SocketStream: ChannelInboundHandler, RemovableChannelHandler, DuplexStream, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  let channel: any Channel
  private var context: ChannelHandlerContext?
  private var input: Deque<ByteBuffer>
  private var inputBytes = 0
  private var inputEnded: Bool
  private var failure: (any Error)?
  private var readIsOutstanding = false
  private var isEnding = false
  private var reader: UnsafeContinuation<ByteBuffer?, any Error>?
  private var inputEndActions: [@Sendable () -> Void] = []
  private var deadline: Scheduled<Void>?

  private static let readAhead = 64 * 1024

  /// - Parameters:
  ///   - input: what was read from the channel already.
  ///   - inputEnded: whether the channel is closed.
  init(channel: any Channel, input: Deque<ByteBuffer> = [], inputEnded: Bool = false) {
    self.channel = channel
    self.input = input
    self.inputEnded = inputEnded
    inputBytes = input.reduce(0) { $0 + $1.readableBytes }
  }

  /// Joins the channel's pipeline.
  func activate() throws {
    guard channel.isActive else {
      inputEnded = true
      return
    }
    try channel.pipeline.syncOperations.addHandler(self)
    readMore()
  }

  /// Whether bytes have come that nobody has read.
  var hasUnreadInput: Bool { inputBytes > 0 }

  // MARK: DuplexStream

  func read() async throws -> ByteBuffer? {
    if let bytes = input.popFirst() {
      inputBytes -= bytes.readableBytes
      readMore()
      return bytes
    }
    if let failure { throw failure }
    if inputEnded || isEnding { return nil }
    readMore()
    return try await withUnsafeThrowingContinuation { reader = $0 }
  }

  func unread(_ bytes: ByteBuffer) {
    input.prepend(bytes)
    inputBytes += bytes.readableBytes
  }

  func write(_ bytes: ByteBuffer) async throws {
    if let failure { throw failure }
    guard channel.isActive, !isEnding else {
      throw TransportError.connectionLost(reason: "the connection is closed")
    }
    try await wait(for: written(bytes))
  }

  func closeWrite() async throws { try await wait(for: outputClosed()) }

  private func written(_ bytes: ByteBuffer) -> EventLoopFuture<Void> { channel.writeAndFlush(bytes) }

  private func outputClosed() -> EventLoopFuture<Void> { channel.close(mode: .output) }

  private func wait(for future: EventLoopFuture<Void>) async throws {
    let result: Result<Void, any Error> = await withUnsafeContinuation { continuation in
      future.assumeIsolated().whenComplete { continuation.resume(returning: $0) }
    }
    do { try result.get() } catch { throw failure ?? HTTP1Connection.describe(transportFailure: error) }
  }

  func end(farewell: ByteBuffer?, patience: TimeAmount) {
    guard !isEnding, channel.isActive else { return close() }
    isEnding = true
    input = []
    inputBytes = 0
    resumeReader(.success(nil))
    deadline = channel.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.close() }
    if let farewell { channel.write(farewell, promise: nil) }
    channel.flush()
    channel.close(mode: .output, promise: nil)
    // With half-closure allowed the peer may have closed its side long before.
    if inputEnded { close() } else { readMore() }
  }

  func close() {
    deadline?.cancel()
    deadline = nil
    channel.close(promise: nil)
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {
    if inputEnded { action() } else { inputEndActions.append(action) }
  }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    guard bytes.readableBytes > 0, !isEnding else { return }
    if let reader {
      self.reader = nil
      return reader.resume(returning: bytes)
    }
    input.append(bytes)
    inputBytes += bytes.readableBytes
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readIsOutstanding = false
    readMore()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { endInput() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if failure == nil { failure = HTTP1Connection.describe(transportFailure: error) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = nil
    endInput()
  }

  private func endInput() {
    readIsOutstanding = false
    guard !inputEnded else { return }
    inputEnded = true
    if let failure { resumeReader(.failure(failure)) } else { resumeReader(.success(nil)) }
    let actions = inputEndActions
    inputEndActions = []
    for action in actions { action() }
    if isEnding { close() }
  }

  private func resumeReader(_ result: Result<ByteBuffer?, any Error>) {
    guard let reader else { return }
    self.reader = nil
    reader.resume(with: result)
  }

  private func readMore() {
    guard !readIsOutstanding, !inputEnded, inputBytes < SocketStream.readAhead || isEnding, let context else { return }
    readIsOutstanding = true
    context.read()
  }
}

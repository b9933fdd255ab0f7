import NIOCore

/// A channel as a `DuplexStream`: the handler at the end of its pipeline. Confined to the channel's loop.
///
/// Bytes are read ahead, up to `readAhead` of memory, so that the peer's closing is noticed while no `read` waits.
final class SocketStream: ChannelInboundHandler, RemovableChannelHandler, DuplexStream, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  let channel: any Channel
  private var context: ChannelHandlerContext?
  private var input: ReadAheadQueue
  private(set) var inputEnded: Bool
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
  init(channel: any Channel, input: ReadAheadQueue = ReadAheadQueue(), inputEnded: Bool = false) {
    self.channel = channel
    self.input = input
    self.inputEnded = inputEnded
  }

  private func assertOnLoop() { channel.eventLoop.assertInEventLoop() }

  /// Joins the channel's pipeline.
  func activate() throws {
    assertOnLoop()
    guard channel.isActive else {
      inputEnded = true
      return
    }
    try channel.pipeline.syncOperations.addHandler(self)
    readMore()
  }

  /// The memory of what was received and not read.
  var heldInputBytes: Int { input.heldBytes }

  /// Whether bytes have come that were not read.
  var hasUnreadInput: Bool { !input.isEmpty }

  // MARK: DuplexStream

  func read() async throws -> ByteBuffer? {
    assertOnLoop()
    if let bytes = input.popFirst() {
      readMore()
      return bytes
    }
    if let failure { throw failure }
    if inputEnded || isEnding { return nil }
    readMore()
    return try await withUnsafeThrowingContinuation { reader = $0 }
  }

  func unread(_ bytes: ByteBuffer) {
    assertOnLoop()
    input.prepend(bytes)
  }

  func write(_ bytes: ByteBuffer) async throws {
    assertOnLoop()
    if let failure { throw failure }
    guard channel.isActive, !isEnding else {
      throw TransportError.connectionLost(reason: "the connection is closed")
    }
    try await wait(for: written(bytes))
  }

  func closeWrite() async throws {
    assertOnLoop()
    try await wait(for: outputClosed())
  }

  private func written(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenFailure { error in
      // Before the channel tells that it is closed.
      if self.failure == nil { self.failure = HTTP1Connection.endOfInput(afterFailedWrite: error) }
    }
    channel.writeAndFlush(bytes, promise: promise)
    return promise.futureResult
  }

  private func outputClosed() -> EventLoopFuture<Void> { channel.close(mode: .output) }

  private func wait(for future: EventLoopFuture<Void>) async throws {
    do { try await future.valueOnLoop() } catch { throw failure ?? HTTP1Connection.describe(transportFailure: error) }
  }

  func end(sending last: ByteBuffer?, patience: TimeAmount) {
    assertOnLoop()
    guard !isEnding, channel.isActive else { return close() }
    isEnding = true
    input.removeAll()
    resumeReader(.success(nil))
    deadline = channel.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.close() }
    if let last { channel.write(last, promise: nil) }
    channel.flush()
    channel.close(mode: .output, promise: nil)
    // With half-closure allowed the peer may have closed its side long before.
    if inputEnded { close() } else { readMore() }
  }

  func close() {
    assertOnLoop()
    deadline?.cancel()
    deadline = nil
    // The end of a connection that is broken off here is not the end of what the peer sends.
    if failure == nil, !isEnding, !inputEnded {
      failure = TransportError.connectionLost(reason: "the connection is closed")
    }
    channel.close(promise: nil)
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {
    assertOnLoop()
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
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    readIsOutstanding = false
    input.compact()
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
    guard !readIsOutstanding, !inputEnded, input.heldBytes < SocketStream.readAhead || isEnding, let context else {
      return
    }
    readIsOutstanding = true
    context.read()
  }
}

import DequeModule
import HTTPSemantics
import NIOCore
import SystemServices

/// One HTTP/1.1 connection: the channel handler at the end of its pipeline. Confined to the connection's loop.
///
/// It is idle, or it serves one `HTTP1Exchange`. Bytes are parsed only when the exchange asks for the next part of
/// the response; the memory of what has been read and not asked for is bounded by `readAhead`, and beyond it the socket
/// is left alone. While idle, one read stays outstanding, so that the server's closing is noticed before the next request.
/// Further exchanges may follow the one it serves, their requests already written: see `HTTP1Connection+Pipelining`.
final class HTTP1Connection: ChannelInboundHandler, RemovableChannelHandler, PooledConnection, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  let id: HTTPConnectionPool.ConnectionID
  let key: ConnectionKey
  let record: ConnectionRecord
  /// Copied for each exchange.
  private let exchangeRecord: ExchangeRecord
  private let channel: any Channel
  /// That of the channel, which finds it anew each time it is asked.
  private let loop: any EventLoop
  private let pool: HTTPConnectionPool
  /// Whether bytes come through TLS.
  private let isSecured: Bool
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var context: ChannelHandlerContext?

  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var parser: HTTP1ResponseParser
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var input = ReadAheadQueue()
  private var inputEnded = false
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var failure: (any Error)?
  private var readIsOutstanding = false
  /// Whether a small request is being given to the kernel.
  private var isWritingWhole = false

  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var exchange: HTTP1Exchange?
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var followers = Deque<HTTP1Exchange>()
  private(set) var exchangeCount = 0
  private var isRetired = false
  /// Whether the server may have had reason to close it, for being idle.
  private var wasIdle = false
  private(set) var keepAlive: KeepAliveHint?

  private static let readAhead = 512 * 1024
  /// Such pieces are those of a body that takes many.
  static let largeRead = 64 * 1024
  private static let smallRequest = 4 * 1024

  init(
    id: HTTPConnectionPool.ConnectionID, key: ConnectionKey, established: EstablishedConnection,
    pool: HTTPConnectionPool
  ) {
    self.id = id
    self.key = key
    isSecured = key.scheme == .https || key.asksProxySecurely
    record = established.record
    exchangeRecord = ExchangeRecord(connection: established.record, isReusedConnection: true)
    channel = established.channel
    loop = established.channel.eventLoop
    self.pool = pool
    parser = HTTP1ResponseParser(memory: pool.responseHeads)
  }

  /// Joins the channel's pipeline. Throws when the channel closed meanwhile.
  func activate() throws {
    assertInEventLoop()
    guard channel.isActive else { throw TransportError.closedBeforeResponse(wasReused: false) }
    try channel.pipeline.syncOperations.addHandler(self)
    // From now on the server's closing is noticed, and what it sends unasked.
    requestRead()
  }

  var isUsable: Bool {
    assertInEventLoop()
    return isOpenForMore && input.isEmpty
  }

  var streamLimit: Int? { nil }

  let knowsStreamLimit = true

  var serverIdleTimeout: TimeAmount? { keepAlive?.timeout.map { .seconds(min($0, 3600)) } }

  // MARK: Exchanges

  private func newExchangeRecord() -> ExchangeRecord {
    var made = exchangeRecord
    made.isReusedConnection = exchangeCount > 1
    return made
  }

  func startExchange() -> any HTTPExchange {
    assertInEventLoop()
    let exchange = makeExchange()
    self.exchange = exchange
    return exchange
  }

  func makeExchange() -> HTTP1Exchange {
    assertInEventLoop()
    exchangeCount += 1
    return HTTP1Exchange(connection: self, record: newExchangeRecord())
  }

  /// nil also while requests of others are written behind the one that is answered: the server would take them for the
  /// conversation's.
  func reserve() -> ConnectionReservation? {
    assertInEventLoop()
    return followers.isEmpty ? pool.reserve(self) : nil
  }

  /// Whether nothing stands in the way of a further request behind those that are written.
  var isOpenForMore: Bool { failure == nil && !inputEnded && channel.isActive && !isRetired }

  func keepIdle() {
    assertInEventLoop()
    wasIdle = true
    requestRead()
  }

  func retire() {
    assertInEventLoop()
    isRetired = true
  }

  func shutDown() {
    assertInEventLoop()
    fail(with: TransportError.shutDown)
    close()
  }

  func close() {
    assertInEventLoop()
    channel.close(promise: nil)
  }

  /// The exchange is over. `isReusable`: both messages are complete and the server keeps the connection open.
  func ended(_ ended: HTTP1Exchange, isReusable: Bool, keepAlive: KeepAliveHint?) {
    assertInEventLoop()
    guard exchange === ended else { return }
    self.keepAlive = keepAlive
    if isReusable, !followers.isEmpty, isOpenForMore, parser.isBetweenMessages { return serveFollower() }
    // Bytes after the response answer no request: the framing can't be trusted any more.
    guard isReusable, isUsable, parser.isBetweenMessages else {
      close()
      pool.closed(self)
      exchange = nil
      return failFollowers()
    }
    exchange = nil
    requestRead()
    pool.exchangeEnded(on: self)
  }

  /// The exchange has ended before it sent anything: the connection is as it was.
  func wasNotUsed(by unused: HTTP1Exchange) {
    assertInEventLoop()
    guard exchange === unused else { return }
    exchangeCount -= 1
    ended(unused, isReusable: true, keepAlive: keepAlive)
  }

  /// The next response is the first follower's.
  private func serveFollower() {
    exchange = followers.popFirst()
    guard let exchange, !exchange.hasEnded else {
      // A request can't be taken back: its answer is got rid of with the connection.
      close()
      pool.closed(self)
      self.exchange = nil
      return failFollowers()
    }
    exchange.itsTurnHasCome(bytesAreHere: !input.isEmpty)
    requestRead()
  }

  /// Whether what comes next is delimited by HTTP.
  var isFramed: Bool { parser.isFramed }

  /// Leaves the pool and the channel: from now on the bytes are the stream's.
  func handOver(from leaving: HTTP1Exchange) throws -> SocketStream {
    assertInEventLoop()
    guard exchange === leaving else { throw TransportError.shutDown }
    if let failure { throw failure }
    let stream = SocketStream(channel: channel, input: input, inputEnded: inputEnded)
    try stream.activate()
    input.removeAll()
    pool.closed(self)
    exchange = nil
    failFollowers()
    channel.pipeline.syncOperations.removeHandler(self, promise: nil)
    return stream
  }

  /// Leaves the channel, on which `leaving` has sent nothing, to the caller.
  func surrender(by leaving: HTTP1Exchange) throws -> any Channel {
    assertInEventLoop()
    guard exchange === leaving, isUsable, followers.isEmpty else {
      throw TransportError.closedBeforeResponse(wasReused: exchangeCount > 1)
    }
    pool.closed(self)
    exchange = nil
    channel.pipeline.syncOperations.removeHandler(self, promise: nil)
    return channel
  }

  // MARK: Writing

  /// Whether a first byte may be sent for `exchange`. A connection that is of no use any more has not carried a byte of
  /// the request, which may therefore be sent again, whatever its method.
  func beginSending(for exchange: HTTP1Exchange) throws {
    assertInEventLoop()
    if case TransportError.shutDown? = failure { throw TransportError.shutDown }
    let hasServed = exchangeCount > 1
    guard failure == nil, !inputEnded, channel.isActive else {
      // The refusal of a client's certificate, which TLS 1.3 tells after the handshake, says more.
      if let failure, case TransportError.tlsHandshakeFailed = failure { throw failure }
      if record.clientCertificate == .withheld, !hasServed { throw connectionClosedError() }
      throw TransportError.notProcessed(
        reason: "the server closed the connection before the request was sent", because: .leaving(hasServed: hasServed))
    }
    guard isTurn(of: exchange), !input.isEmpty else { return }
    // RFC 9112 §9.5: bytes that came before the request do not answer it. On a connection that was idle they belong to its
    // end, such as a 408; on a new one the server speaks another protocol.
    isRetired = true
    guard exchange.record.isReusedConnection || wasIdle else {
      throw TransportError.malformedResponse(reason: "the server sent a response before it was asked")
    }
    throw TransportError.notProcessed(
      reason: "the server sent a response before it was asked", because: .leaving(hasServed: hasServed))
  }

  /// - Parameter onTaken: Called when the kernel has taken all of `bytes`, on the loop.
  func write(_ bytes: ByteBuffer, onTaken: (() -> Void)? = nil) throws {
    let context = try contextForWriting()
    let promise = context.eventLoop.makePromise(of: Void.self)
    promise.futureResult.assumeIsolated().whenComplete { result in
      switch result {
      case .success: onTaken?()
      case .failure(let error):
        // Before the channel tells that it is closed.
        if self.failure == nil { self.failure = HTTP1Connection.endOfInput(afterFailedWrite: error) }
      }
    }
    context.writeAndFlush(NIOAny(bytes), promise: promise)
  }

  /// Writes a request of which nothing more is to come, when no other request is under way. The kernel takes a small one
  /// before this returns, or fails: a promise would tell no more, and takes memory for each request.
  func write(whole request: ByteBuffer) throws {
    guard request.readableBytes <= HTTP1Connection.smallRequest else { return try write(request) }
    let context = try contextForWriting()
    isWritingWhole = true
    defer { isWritingWhole = false }
    context.writeAndFlush(NIOAny(request), promise: nil)
  }

  private func contextForWriting() throws -> ChannelHandlerContext {
    assertInEventLoop()
    if let failure { throw whatItMeans(failure) }
    guard let context, channel.isActive else { throw connectionClosedError() }
    return context
  }

  /// Whether more may be written now. A channel that is closed lets no writer wait.
  var isWritable: Bool { channel.isWritable || !channel.isActive }

  var sentBytes: SentBytes? { pool.configuration.countSentBytes(channel) }

  /// Seconds, queues on the way included; nil where it is not known.
  func roundTrip(_ direction: ConnectionDelay.Direction) -> Double? {
    ConnectionDelay.roundTrip(of: channel, direction)
  }

  func limitReceiveWindow(_ bytes: Int?) { ReceiveWindow.limit(bytes, of: channel) }

  func assertInEventLoop() { loop.assertInEventLoop() }

  func encode(_ head: HTTPRequestHead, framing: RequestBodyFraming) throws(FieldValidation.Refusal) -> ByteBuffer {
    assertInEventLoop()
    if framing == .none { return try pool.heads.encode(head, into: makeHeadBuffer) }
    var bytes = makeHeadBuffer()
    try HTTP1RequestEncoder.encode(head, framing: framing, into: &bytes)
    return bytes
  }

  private func makeHeadBuffer() -> ByteBuffer { channel.allocator.buffer(capacity: 512) }

  func expectResponse(to method: String) {
    assertInEventLoop()
    parser.expect(method: method)
  }

  // MARK: Reading

  /// The memory of what was read before its reader asked for it.
  var heldInputBytes: Int { input.heldBytes }

  /// Bytes of response head consumed so far, interim responses included.
  var headerBytes: Int { parser.headerBytes }

  /// Bytes of response body consumed so far, framing included.
  var framedBodyBytes: Int64 { parser.framedBodyBytes }

  /// The next part of the response out of what has arrived; nil when more bytes are needed.
  func parseNext() throws -> HTTP1ResponseParser.Event? {
    assertInEventLoop()
    if input.isEmpty, failure == nil, !inputEnded, parser.needsInput {
      requestRead()
      return nil
    }
    var bytes = input.popFirst() ?? ByteBuffer()
    while true {
      if let event = try parse(&bytes) {
        if bytes.readableBytes > 0 { input.prepend(bytes) }
        if input.heldBytes < HTTP1Connection.readAhead { requestRead() }
        return event
      }
      guard var next = input.popFirst() else { break }
      if bytes.readableBytes == 0 { bytes = next } else { bytes.writeBuffer(&next) }
    }
    if bytes.readableBytes > 0 { input.prepend(bytes) }
    if let failure { throw whatItMeans(failure) }
    if inputEnded { return try endOfInput() }
    requestRead()
    return nil
  }

  /// Whether the server keeps the connection open after the current response.
  var serverKeepsOpen: Bool { parser.keepsAlive }

  private func parse(_ bytes: inout ByteBuffer) throws -> HTTP1ResponseParser.Event? {
    do { return try parser.parse(&bytes) } catch { throw explain(error) }
  }

  private func endOfInput() throws -> HTTP1ResponseParser.Event? {
    do {
      if let event = try parser.endOfInput() { return event }
    } catch { throw explain(error) }
    throw connectionClosedError()
  }

  private func explain(_ error: HTTP1ParseError) -> TransportError {
    switch error {
    case .closedBeforeHead: connectionClosedError()
    default: error.transportError
    }
  }

  private func connectionClosedError() -> TransportError {
    guard let exchange, exchange.record.responseStart == nil else {
      return .connectionLost(reason: "the server closed the connection in the middle of a response")
    }
    if record.clientCertificate == .withheld, exchangeCount <= 1 {
      return .tlsHandshakeFailed(.clientCertificateRequired)
    }
    return .closedBeforeResponse(wasReused: exchange.record.isReusedConnection || wasIdle)
  }

  /// A connection that broke before a byte of response came may only have been stale.
  private func whatItMeans(_ failure: any Error) -> any Error {
    guard case TransportError.connectionLost = failure, let exchange, exchange.record.responseStart == nil else {
      return failure
    }
    return TransportError.closedBeforeResponse(wasReused: exchange.record.isReusedConnection || wasIdle)
  }

  private func requestRead() {
    guard !readIsOutstanding, let context, !inputEnded else { return }
    readIsOutstanding = true
    context.read()
  }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    assertInEventLoop()
    let bytes = unwrapInboundIn(data)
    guard bytes.readableBytes > 0 else { return }
    guard let exchange else {
      // RFC 9112 §9.5 has no room for a response without a request.
      isRetired = true
      pool.closed(self)
      return context.close(promise: nil)
    }
    if bytes.readableBytes >= HTTP1Connection.largeRead { FreeMemory.keepForLargePieces() }
    input.append(isSecured ? bytes.leavingMemoryOfTLS() : bytes)
    exchange.bytesArrived()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    assertInEventLoop()
    readIsOutstanding = false
    exchange?.advance()
    input.compact()
    if exchange == nil || input.heldBytes < HTTP1Connection.readAhead { requestRead() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    assertInEventLoop()
    if channel.isWritable { exchange?.becameWritable() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    assertInEventLoop()
    let refusal = exchangeCount <= 1 ? ClientCertificateFailure.cause(of: error, record.clientCertificate) : nil
    fail(with: refusal ?? HTTP1Connection.describe(transportFailure: error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    assertInEventLoop()
    if isWritingWhole, failure == nil {
      failure = TransportError.connectionLost(reason: "the connection broke while the request was sent")
    }
    inputEnded = true
    readIsOutstanding = false
    exchange?.advance()
    exchange?.becameWritable()
    failFollowers()
    if exchange == nil { pool.closed(self) }
  }

  private func fail(with error: any Error) {
    if failure == nil { failure = error }
    exchange?.advance()
    exchange?.becameWritable()
    failFollowers()
  }
}

import DequeModule
import HTTPSemantics
import NIOCore
import SystemServices

/// One HTTP/2 connection: the channel handler at the end of its pipeline. Confined to the connection's loop.
///
/// It cuts what arrives into frames and hands them to the exchanges, one a stream; what exchanges want to send is
/// gathered and leaves in one piece when the loads that are ready have run. It is always reading: what a slow reader
/// leaves unread is bounded by its stream's window, and the window of the connection is opened again as bytes arrive, so
/// that no stream waits for the reader of another.
final class HTTP2Connection: ChannelInboundHandler, PooledConnection, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  let id: HTTPConnectionPool.ConnectionID
  let key: ConnectionKey
  let record: ConnectionRecord
  /// Copied for each exchange.
  private let exchangeRecord: ExchangeRecord
  let channel: any Channel
  let pool: HTTPConnectionPool
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var context: ChannelHandlerContext?

  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var frames = HTTP2FrameReader()
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var requests = HTTP2RequestEncoder()
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var responses = HTTP2ResponseDecoder()
  var settings = HTTP2PeerSettings()
  var floodGuard = HTTP2FloodGuard()
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var closedStreams = HTTP2ClosedStreams()
  var liveness: HTTP2Liveness
  var sweepID: DeadlineSweeper.ID?
  /// Of the limit for the server's SETTINGS.
  var settingsLimitID: DeadlineSweeper.ID?

  /// The streams that are open on either side.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var streams: [HTTP2StreamNumber: HTTP2Exchange] = [:]
  var nextStream: HTTP2StreamNumber = 1
  /// Exchanges without a stream that wait to hear what the server offers.
  var awaitingSettings: [HTTP2Exchange] = []
  /// Exchanges that were given out and have not ended.
  private(set) var leases = 0
  private var exchangeCount = 0
  /// Whether a request was answered in full.
  var hasServed = false
  /// No further streams: the server is going away, or the session wants to be rid of the connection.
  private(set) var isDraining = false
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var failure: TransportError?

  /// How much body the server takes on the whole connection.
  var sendWindow = 65_535
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var receiveWindow = HTTP2ReceiveWindow(size: HTTP2Connection.window, maximum: HTTP2Connection.window)
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var outgoing = ByteBuffer()
  var flushIsScheduled = false
  /// Flushes are numbered: what is in `outgoing` leaves with this one.
  private(set) var nextFlush: UInt64 = 1
  /// The last flush with body of requests that the kernel has taken.
  private(set) var takenFlush: UInt64 = 0
  /// Whether body of requests is in `outgoing`.
  var outgoingHasBody = false
  /// Exchanges with body to send that their own window allows.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  var senders = Deque<HTTP2Exchange>()

  /// RFC 9113 §6.9.2: the connection's window is 65,535 bytes until it is opened.
  private static let initialWindow = 65_535
  private static let window = 16 << 20

  /// nil where the kernel does not know it: of the way behind a proxy, and over several paths.
  var shortestRoundTrip: TimeAmount? {
    assertInEventLoop()
    guard key.proxy == nil, !MultipathTCP.isUsed(by: channel) else { return nil }
    return ConnectionDelay.shortestRoundTrip(of: channel)
  }

  init(
    id: HTTPConnectionPool.ConnectionID, key: ConnectionKey, established: EstablishedConnection,
    pool: HTTPConnectionPool
  ) {
    self.id = id
    self.key = key
    record = established.record
    exchangeRecord = ExchangeRecord(connection: established.record, isReusedConnection: true)
    channel = established.channel
    self.pool = pool
    liveness = HTTP2Liveness(
      interval: pool.configuration.http2SilenceBeforePing, patience: pool.configuration.http2PingPatience, at: .now())
  }

  /// Joins the channel's pipeline and introduces itself. Throws when the channel closed meanwhile.
  func activate() throws {
    assertInEventLoop()
    guard channel.isActive else { throw TransportError.closedBeforeResponse(wasReused: false) }
    try channel.pipeline.syncOperations.addHandler(self)
    outgoing.writeStaticString(HTTP2FrameWriter.preface)
    HTTP2FrameWriter.settings(
      [
        HTTP2Setting(HTTP2Setting.enablePush, 0),
        HTTP2Setting(HTTP2Setting.initialWindowSize, UInt32(HTTP2Exchange.initialWindow)),
        HTTP2Setting(HTTP2Setting.maximumHeaderListSize, UInt32(ResponseLimits.standard.headBytes)),
        HTTP2Setting(HTTP2Setting.noRFC7540Priorities, 1),
      ], into: &outgoing)
    HTTP2FrameWriter.windowUpdate(0, by: HTTP2Connection.window - HTTP2Connection.initialWindow, into: &outgoing)
    scheduleFlush()
    awaitSettings()
    context?.read()
  }

  var isUsable: Bool { failure == nil && !isDraining && channel.isActive }

  /// Whether the server has introduced itself.
  var hasSettings: Bool { settings.isKnown }

  var knowsStreamLimit: Bool { hasSettings }

  var streamLimit: Int? { settings.maximumConcurrentStreams ?? HTTP2PeerSettings.assumedConcurrentStreams }

  /// Introduces itself, says why not, and closes.
  static func refuse(_ channel: any Channel, _ code: HTTP2ErrorCode) {
    var bytes = channel.allocator.buffer(capacity: 64)
    bytes.writeStaticString(HTTP2FrameWriter.preface)
    HTTP2FrameWriter.settings([], into: &bytes)
    HTTP2FrameWriter.goAway(code, into: &bytes)
    channel.writeAndFlush(bytes, promise: nil)
    channel.close(promise: nil)
  }

  func assertInEventLoop() { channel.eventLoop.assertInEventLoop() }

  // MARK: Exchanges

  private func newExchangeRecord() -> ExchangeRecord {
    var made = exchangeRecord
    made.isReusedConnection = exchangeCount > 1
    return made
  }

  func startExchange() -> any HTTPExchange {
    assertInEventLoop()
    exchangeCount += 1
    leases += 1
    watch()
    return HTTP2Exchange(connection: self, record: newExchangeRecord())
  }

  /// The exchange is over, whatever became of it.
  func ended(_ exchange: HTTP2Exchange) {
    assertInEventLoop()
    leases -= 1
    pool.exchangeEnded(on: self)
  }

  // MARK: Ending

  /// The server does not say for how long it keeps a connection.
  let serverIdleTimeout: TimeAmount? = nil

  /// It reads all the time, in use or not.
  func keepIdle() {}

  /// Streams are not sent one behind the other.
  let followerCount: Int? = nil

  func startFollower() -> any HTTPExchange { startExchange() }

  /// Takes no further exchanges; the pool closes it when the last one has ended.
  func retire() {
    assertInEventLoop()
    isDraining = true
  }

  /// The server takes no more streams (RFC 9113 §6.8), or their numbers are used up.
  func drain() {
    assertInEventLoop()
    guard !isDraining else { return }
    isDraining = true
    pool.draining(self)
  }

  func shutDown() {
    assertInEventLoop()
    fail(TransportError.shutDown)
    close()
  }

  /// Sends GOAWAY and closes. Exchanges under way fail.
  func close() {
    assertInEventLoop()
    if failure == nil { fail(.connectionLost(reason: "the connection was closed")) }
    goAway(.noError)
  }

  /// The server broke the protocol.
  func fail(_ error: HTTP2ConnectionError) {
    assertInEventLoop()
    guard failure == nil else { return }
    fail(TransportError.malformedResponse(reason: error.reason))
    goAway(error.code)
  }

  func goAway(_ code: HTTP2ErrorCode) {
    if channel.isActive {
      HTTP2FrameWriter.goAway(code, into: &outgoing)
      flush()
    }
    channel.close(promise: nil)
  }

  /// Every exchange gets `error`, and the connection takes no more.
  func fail(_ error: TransportError) {
    assertInEventLoop()
    guard failure == nil else { return }
    failure = error
    isDraining = true
    stopWatching()
    stopAwaitingSettings()
    // Before the exchanges: what they do next must not meet this connection again.
    pool.closed(self)
    senders = []
    let all = Array(streams.values) + awaitingSettings
    streams = [:]
    awaitingSettings = []
    for exchange in all { exchange.connectionFailed(error) }
  }

  /// Writes what is in `outgoing`.
  func flush() {
    assertInEventLoop()
    guard outgoing.readableBytes > 0, let context else { return }
    let bytes = outgoing
    outgoing = ByteBuffer()
    let number = nextFlush
    nextFlush += 1
    guard outgoingHasBody else { return context.writeAndFlush(NIOAny(bytes), promise: nil) }
    outgoingHasBody = false
    let taken = context.eventLoop.makePromise(of: Void.self)
    taken.futureResult.assumeIsolated().whenSuccess { self.takenFlush = number }
    context.writeAndFlush(NIOAny(bytes), promise: taken)
  }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    assertInEventLoop()
    guard failure == nil else { return }
    let bytes = unwrapInboundIn(data)
    if bytes.readableBytes >= HTTP1Connection.largeRead { FreeMemory.keepForLargePieces() }
    frames.append(bytes)
    let now = NIODeadline.now()
    do {
      while failure == nil, let frame = try frames.next() {
        try receive(frame, at: now)
      }
    } catch let error as HTTP2ConnectionError { fail(error) } catch {
      fail(TransportError.connectionLost(reason: "\(error)"))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    assertInEventLoop()
    if outgoing.readableBytes > 0 { scheduleFlush() }
    if failure == nil { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    assertInEventLoop()
    if channel.isWritable { pump() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    assertInEventLoop()
    let refusal = ClientCertificateFailure.cause(of: error, record.clientCertificate)
    fail(refusal ?? HTTP1Connection.describe(transportFailure: error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    assertInEventLoop()
    fail(.connectionLost(reason: "the server closed the connection"))
  }
}

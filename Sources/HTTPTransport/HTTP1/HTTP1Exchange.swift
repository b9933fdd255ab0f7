import HTTPSemantics
import NIOCore

/// One request and its response on an HTTP/1.1 connection. Confined to the connection's loop.
final class HTTP1Exchange: HTTPExchange, @unchecked Sendable {
  private let connection: HTTP1Connection
  private(set) var record: ExchangeRecord
  private(set) var trailers: HTTPFields?

  private var phase = Phase()
  /// When bytes of the response last arrived.
  private var lastArrival: NIODeadline?
  private var unsent = UnsentBody()
  private var sending = SendProgress()
  /// Pieces of the body that the kernel has not taken.
  private var queuedWrites = 0
  private var failure: (any Error)?
  private var clientKeepsOpen = true
  private var hasLimitedWindow = false
  private var asksForUpgrade = false
  private var method = ""
  private var keepAlive: KeepAliveHint?
  /// False when the server said that this is the last request it takes on the connection.
  private var serverTakesMore = true

  /// Called when another pull may bring something.
  private var reader: (() -> Void)?
  private var writer: UnsafeContinuation<Void, any Error>?

  private struct Phase {
    var hasBegun = false
    var requestIsComplete = false
    var headIsComplete = false
    var responseIsComplete = false
    var hasEnded = false
  }

  func reserveConnection() -> ConnectionReservation? {
    connection.isTurn(of: self) ? connection.reserve() : nil
  }

  init(connection: HTTP1Connection, record: ExchangeRecord) {
    self.connection = connection
    self.record = record
  }

  // MARK: Request

  func send(head: HTTPRequestHead, body: RequestBodyFraming) throws {
    connection.assertInEventLoop()
    if let failure { throw failure }
    try connection.beginSending(for: self)
    phase.hasBegun = true
    unsent = UnsentBody(body)
    record.requestStart = .now()
    clientKeepsOpen = !head.fields.hasToken("close", in: "Connection")
    asksForUpgrade = head.fields.contains("Upgrade")
    method = head.method
    if connection.isTurn(of: self) { connection.expectResponse(to: method) }
    let bytes: ByteBuffer
    do { bytes = try connection.encode(head, framing: body) } catch {
      throw TransportError.invalidRequest(reason: error.sentence)
    }
    record.requestHeaderBytes = Int64(bytes.readableBytes)
    if body == .none, connection.isTurn(of: self) {
      try connection.write(whole: bytes)
    } else {
      try connection.write(bytes)
    }
    if body == .none || unsent.isComplete { requestFinished() }
  }

  func write(_ bytes: ByteBuffer) async throws {
    connection.assertInEventLoop()
    if let failure { throw failure }
    let count = Int64(bytes.readableBytes)
    guard count > 0 else { return }
    try unsent.give(count)
    let wire = unsent.framing == .chunked ? HTTP1RequestEncoder.chunk(bytes) : bytes
    record.requestBodyBytes += Int64(wire.readableBytes)
    // Bytes that leave are progress, also where the reader waits and the writer has no more to write.
    try connection.write(wire) { [weak self] in
      self?.queuedWrites -= 1
      self?.advance()
    }
    queuedWrites += 1
    guard !connection.isWritable else { return }
    try await withUnsafeThrowingContinuation { writer = $0 }
  }

  func finish(trailers: HTTPFields?) async throws {
    connection.assertInEventLoop()
    if let failure { throw failure }
    guard !phase.requestIsComplete else { return }
    if unsent.framing == .none { return }
    try unsent.end()
    if unsent.framing == .chunked {
      let last = HTTP1RequestEncoder.lastChunk(trailers: trailers)
      record.requestBodyBytes += Int64(last.readableBytes)
      try connection.write(last)
    }
    requestFinished()
  }

  func lookAtSending(_ moved: @escaping () -> Void) {
    connection.assertInEventLoop()
    guard let sent = connection.sentBytes else { return }
    if sending.look(sent, given: record.requestBodyBytes, isQueued: queuedWrites > 0) { moved() }
  }

  func measureDelay(_ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void) {
    connection.assertInEventLoop()
    if let delay = connection.roundTrip(direction) { measured(delay) }
  }

  func limitReceiveWindow(_ bytes: Int?) {
    connection.assertInEventLoop()
    // The connection may be another exchange's.
    guard !phase.hasEnded else { return }
    hasLimitedWindow = bytes != nil
    connection.limitReceiveWindow(bytes)
  }

  private func requestFinished() {
    phase.requestIsComplete = true
    record.requestEnd = .now()
  }

  func becameWritable() {
    guard let writer else { return }
    self.writer = nil
    if let failure { writer.resume(throwing: failure) } else { writer.resume() }
  }

  // MARK: Response

  func takeHead() throws -> HTTPResponseHead? {
    guard !phase.headIsComplete else {
      throw TransportError.malformedResponse(reason: "the final response head was already read")
    }
    guard let event = try takeEvent() else { return nil }
    guard case .head(let head) = event else {
      throw TransportError.malformedResponse(reason: "the response has no head")
    }
    guard !head.isInformational || head.status == 101 else { return head }
    // RFC 9110 §15.2.2, §7.8: only a protocol that the request offered can be switched to.
    guard head.status != 101 || asksForUpgrade else {
      throw TransportError.malformedResponse(reason: "it switches to a protocol that was not asked for")
    }
    phase.headIsComplete = true
    if let hint = KeepAliveHint(head: head) {
      keepAlive = hint
      if hint.max == 0 { serverTakesMore = false }
    }
    return head
  }

  func takeBody() throws -> ResponseBodyPart? {
    guard !phase.responseIsComplete else { return .end }
    switch try takeEvent() {
    case nil: return nil
    case .body(let bytes): return .bytes(bytes)
    case .end(let trailers):
      self.trailers = trailers
      phase.responseIsComplete = true
      // The body may have been pulled long after it arrived.
      record.responseEnd = lastArrival ?? .now()
      return .end
    case .head: throw TransportError.malformedResponse(reason: "a second response head inside a body")
    }
  }

  private func takeEvent() throws -> HTTP1ResponseParser.Event? {
    connection.assertInEventLoop()
    if let failure { throw failure }
    guard connection.isTurn(of: self) else { return nil }
    defer {
      record.responseHeaderBytes = Int64(connection.headerBytes)
      record.responseBodyBytes = connection.framedBodyBytes
    }
    do { return try connection.parseNext() } catch {
      if failure == nil { failure = error }
      throw error
    }
  }

  func whenReadable(_ action: @escaping () -> Void) {
    connection.assertInEventLoop()
    guard failure == nil else { return action() }
    reader = action
  }

  func bytesArrived() {
    let now = NIODeadline.now()
    lastArrival = now
    if record.responseStart == nil { record.responseStart = now }
  }

  /// Something happened on the connection that may give a waiting reader its next event or its error.
  func advance() {
    guard let reader else { return }
    self.reader = nil
    reader()
  }

  // MARK: Pipelining

  var hasEnded: Bool { phase.hasEnded }

  /// Whether the connection is known to be open.
  var isOnOpenConnection: Bool { connection.isOpenForMore }

  /// The memory of what was read before it was asked for.
  var heldInputBytes: Int { connection.heldInputBytes }

  /// Whether another request may be written behind this one: it is sent in full, repeating it does no harm, and what
  /// follows it is HTTP, whatever the server answers.
  var mayBeFollowed: Bool {
    guard phase.requestIsComplete, unsent.framing == .none, failure == nil, clientKeepsOpen, !asksForUpgrade else {
      return false
    }
    return HTTPMethod.isSafe(method)
  }

  /// The responses to the requests before this one are complete.
  func itsTurnHasCome(bytesAreHere: Bool) {
    guard !method.isEmpty else { return }
    connection.expectResponse(to: method)
    if bytesAreHere { bytesArrived() }
    advance()
  }

  /// The connection ends before the response to this request.
  func turnWillNotCome() { stop(TransportError.closedBeforeResponse(wasReused: true)) }

  // MARK: End

  func takeOver() async throws -> any DuplexStream {
    connection.assertInEventLoop()
    if let failure { throw failure }
    guard phase.headIsComplete, !phase.hasEnded, reader == nil, writer == nil, !connection.isFramed else {
      throw TransportError.invalidRequest(reason: "the connection can't be taken over in the middle of a message")
    }
    let stream = try connection.handOver(from: self)
    phase.hasEnded = true
    record.responseEnd = .now()
    return stream
  }

  /// Ends the exchange, which has sent nothing, and leaves the connection to the caller as a channel.
  func surrender() throws -> any Channel {
    connection.assertInEventLoop()
    guard !phase.hasBegun, !phase.hasEnded, failure == nil else {
      throw TransportError.invalidRequest(reason: "the connection carries a message")
    }
    let channel = try connection.surrender(by: self)
    phase.hasEnded = true
    return channel
  }

  func abort(_ error: any Error) {
    connection.assertInEventLoop()
    guard failure == nil, !phase.hasEnded else { return }
    stop(error)
    // Those before it still get their answers.
    if connection.isTurn(of: self) { connection.close() }
  }

  private func stop(_ error: any Error) {
    guard failure == nil else { return }
    failure = error
    advance()
    becameWritable()
  }

  func end() {
    connection.assertInEventLoop()
    guard !phase.hasEnded else { return }
    phase.hasEnded = true
    if !phase.hasBegun, failure == nil {
      failure = TransportError.connectionLost(reason: "the exchange has ended")
      return connection.wasNotUsed(by: self)
    }
    let isReusable =
      failure == nil && phase.requestIsComplete && phase.responseIsComplete && connection.serverKeepsOpen
      && clientKeepsOpen && serverTakesMore
    if failure == nil, !isReusable { failure = TransportError.connectionLost(reason: "the exchange has ended") }
    becameWritable()
    if hasLimitedWindow { connection.limitReceiveWindow(nil) }
    connection.ended(self, isReusable: isReusable, keepAlive: keepAlive)
  }
}

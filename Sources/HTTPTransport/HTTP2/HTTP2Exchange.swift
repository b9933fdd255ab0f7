import DequeModule
import HTTPSemantics
import NIOCore
import NIOHPACK

/// One request and its response on a stream of an HTTP/2 connection. Confined to the connection's loop.
final class HTTP2Exchange: HTTPExchange, TunnelEnd, @unchecked Sendable {
  private let connection: HTTP2Connection
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private(set) var record: ExchangeRecord
  private(set) var trailers: HTTPFields?
  /// 0 until the head is sent.
  private(set) var stream: HTTP2StreamNumber = 0
  private var hasEnded = false
  /// The error that ended the exchange early on our side; it wins over everything.
  private var abortError: (any Error)?

  // The request.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var unsent = UnsentBody()
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var body = ByteBuffer()
  private var bodyEndsStream = false
  private var sendWindow = 0
  private var requestIsComplete = false
  /// Why no more of the request can be sent.
  private var sendFailure: (any Error)?
  private var writer: UnsafeContinuation<Void, any Error>?
  var isWaitingToSend = false
  private var sending = SendProgress()
  /// The connection's flush with the last bytes of body.
  private var lastFlush: UInt64 = 0

  // The response.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var incoming: HTTP2IncomingResponse
  private var receiveFailure: (any Error)?
  /// Called when another pull may bring something.
  #if !DEBUG
  @exclusivity(unchecked)
  #endif
  private var reader: (() -> Void)?
  private var hasHandedOutHead = false
  /// The tunnel that has the stream since it left HTTP behind.
  private var tunnel: StreamTunnel?

  /// The window that SETTINGS announces for every stream; see `HTTP2ReceiveWindow`.
  static let initialWindow = 1 << 20
  static let largestWindow = 8 << 20
  private static let ampleWindow = 2 << 20

  init(connection: HTTP2Connection, record: ExchangeRecord) {
    self.connection = connection
    self.record = record
    incoming = HTTP2IncomingResponse(
      window: HTTP2ReceiveWindow(
        size: HTTP2Exchange.initialWindow, maximum: HTTP2Exchange.largestWindow,
        ample: HTTP2Exchange.ampleWindow))
  }

  // MARK: Request

  func send(head: HTTPRequestHead, body: RequestBodyFraming) throws {
    connection.assertInEventLoop()
    try checkSending()
    unsent = UnsentBody(body)
    incoming.method = head.method
    incoming.mayOpenTunnel = head.connectProtocol != nil || head.method == "CONNECT" && body != .none
    record.requestStart = .now()
    let fields: HTTP2RequestEncoder.Fields
    do { fields = try connection.requests.fields(of: head, framing: body) } catch {
      throw TransportError.invalidRequest(reason: error.sentence)
    }
    let isWhole = body == .none || body == .length(0)
    let (number, size) = try connection.open(self, fields, of: body == .none ? head : nil, endsStream: isWhole)
    stream = number
    sendWindow = connection.settings.initialWindow
    record.requestHeaderBytes = Int64(size)
    if isWhole { requestFinished() }
  }

  func write(_ bytes: ByteBuffer) async throws {
    connection.assertInEventLoop()
    try checkSending()
    let count = Int64(bytes.readableBytes)
    guard count > 0 else { return }
    try unsent.give(count)
    if unsent.isComplete { bodyEndsStream = true }
    body = bytes
    if sendWindow > 0 { connection.enqueue(self) }
    guard hasUnsentBody else { return }
    try await withUnsafeThrowingContinuation { writer = $0 }
  }

  func finish(trailers: HTTPFields?) async throws {
    connection.assertInEventLoop()
    guard unsent.framing != .none, !requestIsComplete else { return }
    try checkSending()
    try unsent.end()
    let size = try connection.endBody(of: self, trailers: HTTP2RequestFields.trailers(trailers))
    record.requestBodyBytes += Int64(size)
    requestFinished()
  }

  private func checkSending() throws {
    if let error = abortError ?? sendFailure ?? receiveFailure { throw error }
  }

  private func requestFinished() {
    requestIsComplete = true
    record.requestEnd = .now()
    if incoming.isComplete { connection.completed(self) }
    tunnel?.advance()
  }

  private var hasUnsentBody: Bool { body.readableBytes > 0 }

  var hasBodyToSend: Bool { hasUnsentBody && sendWindow > 0 }

  /// The next frame's worth of body.
  func takeBody(atMost limit: Int) -> (bytes: ByteBuffer, endsStream: Bool)? {
    guard abortError == nil, sendFailure == nil, receiveFailure == nil else { return nil }
    let count = min(limit, sendWindow, body.readableBytes)
    guard count > 0, let piece = body.readSlice(length: count) else { return nil }
    sendWindow -= count
    lastFlush = connection.nextFlush
    record.requestBodyBytes += Int64(count + HTTP2FrameHeader.size)
    return (piece, bodyEndsStream && !hasUnsentBody)
  }

  func sentBody(endsStream: Bool) {
    if endsStream { requestFinished() }
    if !hasUnsentBody { resumeWriter() }
    // Bytes that leave are progress, also where the writer waits for the window.
    resumeReader()
  }

  func lookAtSending(_ moved: @escaping () -> Void) {
    connection.assertInEventLoop()
    guard let sent = connection.pool.configuration.countSentBytes(connection.channel) else { return }
    let isQueued = lastFlush > connection.takenFlush
    if sending.look(sent, given: record.requestBodyBytes, isQueued: isQueued) { moved() }
  }

  func measureDelay(_ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void) {
    connection.assertInEventLoop()
    if let delay = ConnectionDelay.roundTrip(of: connection.channel, direction) { measured(delay) }
  }

  /// False when the window would be larger than HTTP/2 allows.
  func openSendWindow(by increment: Int) -> Bool {
    guard sendWindow + increment <= 0x7fff_ffff else { return false }
    sendWindow += increment
    if hasBodyToSend { connection.enqueue(self) }
    return true
  }

  private func resumeWriter() {
    guard let writer else { return }
    self.writer = nil
    if let error = abortError ?? sendFailure ?? receiveFailure {
      writer.resume(throwing: error)
    } else {
      writer.resume()
    }
  }

  // MARK: What arrives

  func receivedFields(
    _ fields: HTTP2FieldSection, wireSize: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    if record.responseStart == nil { record.responseStart = now }
    try incoming.fields(fields, wireSize: wireSize, endsStream: endsStream, at: now)
    progressed()
  }

  func receivedData(
    _ bytes: ByteBuffer, flowControlled: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    let increment = try incoming.data(bytes, flowControlled: flowControlled, endsStream: endsStream, at: now)
    if increment > 0 { connection.openWindow(of: stream, by: increment) }
    progressed()
  }

  private func progressed() {
    if incoming.isComplete, requestIsComplete { connection.completed(self) }
    resumeReader()
  }

  func receivedReset(_ code: HTTP2ErrorCode) {
    // RFC 9113 §8.1: a server that has answered in full may ask for the rest of the request to be kept.
    let error = HTTP2Exchange.meaning(of: code)
    sendFailure = error
    if !incoming.isComplete { receiveFailure = error }
    resumeReader()
    resumeWriter()
  }

  func receivedNonsense(_ error: HTTP2MessageError) { failed(error.transportError) }

  func connectionFailed(_ error: TransportError) { failed(connection.meaning(of: error, for: self)) }

  private func failed(_ error: TransportError) {
    if sendFailure == nil { sendFailure = error }
    if !incoming.isComplete, receiveFailure == nil { receiveFailure = error }
    resumeReader()
    resumeWriter()
  }

  private static func meaning(of code: HTTP2ErrorCode) -> TransportError {
    switch code {
    case .refusedStream: .notProcessed(reason: "the server refused the request for now")
    case .http11Required: .requiresHTTP1
    case .inadequateSecurity: .tlsHandshakeFailed(.other("the server finds the connection not secure enough"))
    default: .connectionLost(reason: "the server ended the exchange with \(code.name)")
    }
  }

  private func resumeReader() {
    tunnel?.advance()
    guard let reader else { return }
    self.reader = nil
    reader()
  }

  // MARK: Response

  func takeHead() throws -> HTTPResponseHead? {
    connection.assertInEventLoop()
    guard !hasHandedOutHead else {
      throw TransportError.malformedResponse(reason: "the final response head was already read")
    }
    defer { record.responseHeaderBytes = Int64(incoming.headerBytes) }
    if let abortError { throw abortError }
    if let head = incoming.takeHead() {
      hasHandedOutHead = !head.isInformational
      return head
    }
    if let receiveFailure { throw receiveFailure }
    return nil
  }

  func takeBody() throws -> ResponseBodyPart? {
    connection.assertInEventLoop()
    defer { record.responseBodyBytes = incoming.framedBodyBytes }
    if let abortError { throw abortError }
    if let (chunk, increment) = incoming.takeChunk(roundTrip: { connection.shortestRoundTrip }) {
      if increment > 0 { connection.openWindow(of: stream, by: increment) }
      return .bytes(chunk)
    }
    if incoming.isComplete {
      trailers = incoming.trailers
      record.responseHeaderBytes = Int64(incoming.headerBytes)
      record.responseEnd = incoming.lastArrival
      return .end
    }
    if let receiveFailure { throw receiveFailure }
    return nil
  }

  func whenReadable(_ action: @escaping () -> Void) {
    connection.assertInEventLoop()
    guard abortError == nil else { return action() }
    reader = action
  }

  func setPriority(_ value: String) {
    connection.assertInEventLoop()
    guard stream != 0, !incoming.isComplete else { return }
    connection.updatePriority(of: stream, to: value)
  }

  // MARK: Another protocol

  /// RFC 8441 §3: nothing may be asked before the server's SETTINGS are there.
  func protocolChange() async throws -> ProtocolChange {
    connection.assertInEventLoop()
    while true {
      try checkSending()
      if let failure = connection.failure { throw connection.meaning(of: failure, for: self) }
      if connection.hasSettings { return connection.settings.enablesConnectProtocol ? .extendedConnect : .impossible }
      connection.awaitingSettings.append(self)
      await readable()
    }
  }

  func receivedSettings() { resumeReader() }

  func takeOver() async throws -> any DuplexStream {
    connection.assertInEventLoop()
    if let error = abortError { throw error }
    guard hasHandedOutHead, incoming.isTunnel, !hasEnded, tunnel == nil, reader == nil, writer == nil else {
      throw TransportError.invalidRequest(reason: "the stream carries a message of HTTP")
    }
    let made = StreamTunnel(self, loop: connection.channel.eventLoop)
    tunnel = made
    record.responseEnd = .now()
    return made
  }

  func takeArrived() -> ByteBuffer? {
    guard let (chunk, increment) = incoming.takeChunk() else { return nil }
    if increment > 0 { connection.openWindow(of: stream, by: increment) }
    return chunk
  }

  var endOfArrivals: Result<Void, any Error>? {
    if let error = abortError { return .failure(error) }
    if incoming.isComplete { return .success(()) }
    return receiveFailure.map { .failure($0) }
  }

  var hasFinishedSending: Bool { requestIsComplete || abortError != nil || sendFailure != nil }

  func finish(sending last: ByteBuffer?) {
    guard !hasFinishedSending else { return }
    if let last { body.writeImmutableBuffer(last) }
    if hasUnsentBody {
      bodyEndsStream = true
      if sendWindow > 0 { connection.enqueue(self) }
    } else if (try? connection.endBody(of: self, trailers: nil)) != nil {
      requestFinished()
    }
  }

  // MARK: End

  func abort(_ error: any Error) {
    connection.assertInEventLoop()
    guard abortError == nil, !hasEnded else { return }
    stop(error)
  }

  /// One for all: an error is an object.
  private static let ending: any Error = TransportError.connectionLost(reason: "the exchange has ended")

  func end() {
    connection.assertInEventLoop()
    guard !hasEnded else { return }
    hasEnded = true
    if abortError == nil { stop(HTTP2Exchange.ending) }
    tunnel = nil
    connection.ended(self)
  }

  /// Whatever waits gets `error`; the server is told that the stream is not wanted, and the connection goes on.
  private func stop(_ error: any Error) {
    abortError = error
    body = ByteBuffer()
    connection.close(self, .cancel)
    resumeReader()
    resumeWriter()
  }
}

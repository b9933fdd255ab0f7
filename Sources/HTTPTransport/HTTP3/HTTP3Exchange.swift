#if HTTP3
import CQUIC
import HTTPSemantics
import NIOCore
import NIOHPACK

/// One request and its response on a stream of an HTTP/3 connection. Confined to the connection's loop.
///
/// The state machine tells of the response from inside its calls: that is noted here, and acted upon when they have
/// returned (`progressed`).
final class HTTP3Exchange: HTTPExchange, TunnelEnd, @unchecked Sendable {
  private let connection: HTTP3Connection
  private(set) var record: ExchangeRecord
  private(set) var trailers: HTTPFields?
  /// nil before the head is sent, and when the stream is gone.
  private var stream: OpaquePointer?
  private var tunnel: StreamTunnel?
  private var hasEnded = false
  /// The error that ended the exchange early on our side; it wins over everything.
  private var abortError: (any Error)?

  // The request.
  private var unsent = UnsentBody()
  private var requestIsComplete = false
  private var sendFailure: (any Error)?
  private var writer: UnsafeContinuation<Void, any Error>?
  private var acknowledgedBytes: Int64 = 0
  private var lookedAt: Int64 = 0
  /// Bytes of the body that may be on their way before the writer waits.
  private static let mostUnacknowledged = 2 << 20

  // The response.
  private var incoming: HTTP2IncomingResponse
  private var list = HPACKHeaders()
  private var listSize = 0
  private var receiveFailure: (any Error)?
  private var reader: (() -> Void)?
  private var hasHandedOutHead = false
  private var isTouched = false
  /// Whether facts of the connection have become known since the request was sent.
  private var wasSentEarly = false

  init(connection: HTTP3Connection, record: ExchangeRecord) {
    self.connection = connection
    self.record = record
    // The library holds the server to the windows of the stream.
    incoming = HTTP2IncomingResponse(
      window: HTTP2ReceiveWindow(size: .max / 4, maximum: .max / 4), endIsSeparate: true)
  }

  private var machine: OpaquePointer? { connection.quic.machine }

  /// nil while the request waits for a stream, and when the stream is gone.
  var streamNumber: Int64? { stream.map { cquic_stream_id($0) }.flatMap { $0 < 0 ? nil : $0 } }

  // MARK: Request

  func send(head: HTTPRequestHead, body: RequestBodyFraming) throws {
    connection.assertInEventLoop()
    try checkSending()
    unsent = UnsentBody(body)
    incoming.method = head.method
    incoming.mayOpenTunnel = head.connectProtocol != nil
    record.requestStart = .now()
    let fields: HPACKHeaders
    do { fields = try HTTP2RequestFields.list(head, framing: body) } catch {
      throw TransportError.invalidRequest(reason: error.sentence)
    }
    let isWhole = body == .none || body == .length(0)
    wasSentEarly = !connection.isConfirmed
    stream = try connection.open(self, fields, hasBody: !isWhole, isEarly: head.mayBeEarlyData)
    // Before compression, which happens later.
    record.requestHeaderBytes = Int64(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count })
    if isWhole { requestFinished() }
  }

  func write(_ bytes: ByteBuffer) async throws {
    connection.assertInEventLoop()
    try checkSending()
    let count = bytes.readableBytes
    guard count > 0 else { return }
    try unsent.give(Int64(count))
    guard let machine, let stream else { throw gone }
    let isTaken = bytes.withUnsafeReadableBytes {
      cquic_write(machine, stream, $0.bindMemory(to: UInt8.self).baseAddress, count) != 0
    }
    guard isTaken else { throw gone }
    record.requestBodyBytes += Int64(count)
    if unsent.isComplete {
      _ = cquic_finish(machine, stream, nil, 0)
      requestFinished()
    }
    connection.quic.scheduleSend()
    guard cquic_unacknowledged(stream) > HTTP3Exchange.mostUnacknowledged else { return }
    try await withUnsafeThrowingContinuation { writer = $0 }
  }

  func finish(trailers: HTTPFields?) async throws {
    connection.assertInEventLoop()
    guard unsent.framing != .none, !requestIsComplete else { return }
    try checkSending()
    try unsent.end()
    guard let machine, let stream else { throw gone }
    let fields = HTTP2RequestFields.trailers(trailers) ?? HPACKHeaders()
    let isTaken = HTTP3FieldList.withFields(fields) { cquic_finish(machine, stream, $0.baseAddress, $0.count) != 0 }
    guard isTaken else { throw gone }
    requestFinished()
    connection.quic.scheduleSend()
  }

  private var gone: any Error {
    abortError ?? sendFailure ?? receiveFailure ?? TransportError.connectionLost(reason: "the stream was closed")
  }

  private func checkSending() throws {
    if let error = abortError ?? sendFailure ?? receiveFailure { throw error }
  }

  private func requestFinished() {
    requestIsComplete = true
    record.requestEnd = .now()
    tunnel?.advance()
  }

  private func resumeWriterIfPossible() {
    guard let writer else { return }
    if let error = abortError ?? sendFailure ?? receiveFailure {
      self.writer = nil
      return writer.resume(throwing: error)
    }
    if let stream, cquic_unacknowledged(stream) > HTTP3Exchange.mostUnacknowledged / 2 { return }
    self.writer = nil
    writer.resume()
  }

  func lookAtSending(_ moved: @escaping () -> Void) {
    connection.assertInEventLoop()
    guard acknowledgedBytes > lookedAt else { return }
    lookedAt = acknowledgedBytes
    moved()
  }

  func measureDelay(_ direction: ConnectionDelay.Direction, _ measured: @escaping @Sendable (Double) -> Void) {
    connection.assertInEventLoop()
    guard let machine else { return }
    let nanoseconds = cquic_round_trip(machine)
    if nanoseconds > 0 { measured(Double(nanoseconds) / 1e9) }
  }

  func setPriority(_ value: String) {
    connection.assertInEventLoop()
    guard let machine, let stream, !incoming.isComplete else { return }
    let (urgency, isIncremental) = RequestUrgency.read(value)
    if cquic_set_priority(machine, stream, UInt32(urgency), isIncremental ? 1 : 0) != 0 {
      connection.quic.scheduleSend()
    }
  }

  // MARK: What the machine tells, from inside its calls

  private func touch() {
    guard !isTouched else { return }
    isTouched = true
    connection.touch(self)
  }

  /// More than this is not kept. The response is refused before the list ends, which it may never do.
  private var isListTooLarge: Bool { listSize > ResponseLimits.standard.headBytes }

  func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    listSize += name.count + value.count + 32
    guard !isListTooLarge else { return note { () throws(HTTP2MessageError) in throw .headTooLarge } }
    // The list takes no other names.
    guard name.allSatisfy({ $0 < 0x80 }) else {
      return note { () throws(HTTP2MessageError) in throw .invalidFieldName }
    }
    list.add(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
  }

  func fieldsEnded(isEnd: Bool) {
    let (fields, size) = (list, listSize)
    list = HPACKHeaders()
    listSize = 0
    let now = NIODeadline.now()
    if record.responseStart == nil { record.responseStart = now }
    note {
      () throws(HTTP2MessageError) in
      guard size <= ResponseLimits.standard.headBytes else { throw .headTooLarge }
      try incoming.fields(fields, wireSize: size - 32 * fields.count, endsStream: isEnd, at: now)
    }
  }

  func received(data: UnsafeBufferPointer<UInt8>) {
    let bytes = UnsafeRawBufferPointer(data)
    // The time of the datagrams of one read is asked for once.
    let now = connection.quic.lastHeard ?? .now()
    note {
      () throws(HTTP2MessageError) in
      try incoming.data(copying: bytes, at: now)
    }
  }

  var lacksBytes: Bool { incoming.lacksBytes }

  func ended() {
    guard !incoming.isComplete, receiveFailure == nil else { return }
    note {
      () throws(HTTP2MessageError) in
      try incoming.end(at: .now())
    }
  }

  /// The message is checked as it arrives; one that is no response ends the stream.
  private func note(_ change: () throws(HTTP2MessageError) -> Void) {
    guard receiveFailure == nil, abortError == nil else { return }
    do throws(HTTP2MessageError) { try change() } catch {
      receiveFailure = error.transportError
      isRefused = true
    }
    touch()
  }

  private var isRefused = false

  func received(reset code: HTTP3ErrorCode) {
    guard !incoming.isComplete, receiveFailure == nil else { return }
    receiveFailure = code.transportError
    touch()
  }

  func sendingStopped() {
    if sendFailure == nil {
      sendFailure = TransportError.connectionLost(reason: "the server wants no more of the request")
    }
    touch()
  }

  func acknowledged(_ count: Int) {
    acknowledgedBytes += Int64(count)
    touch()
  }

  func closed(_ code: HTTP3ErrorCode) {
    stream = nil
    connection.streamClosed(self)
    if !incoming.isComplete, receiveFailure == nil { receiveFailure = code.transportError }
    touch()
  }

  // MARK: Acting upon it

  /// Something was noted.
  func progressed() {
    isTouched = false
    if isRefused, let machine, let stream {
      isRefused = false
      cquic_cancel(machine, stream, HTTP3ErrorCode.messageError.rawValue)
      connection.quic.scheduleSend()
    }
    resumeReader()
    resumeWriterIfPossible()
  }

  func connectionFailed(_ error: TransportError) {
    stream = connection.quic.machine == nil || connection.failure != nil ? nil : stream
    if sendFailure == nil { sendFailure = error }
    if !incoming.isComplete, receiveFailure == nil { receiveFailure = error }
    resumeReader()
    resumeWriterIfPossible()
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
    if wasSentEarly, connection.isConfirmed {
      wasSentEarly = false
      record.connectionIsMade(connection.record)
    }
    if var head = incoming.takeHead() {
      head.version = .http3
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
    if let chunk = takeArrived() { return .bytes(chunk) }
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

  // MARK: Another protocol

  /// RFC 9220 §3: nothing may be asked before the server's settings are there.
  func protocolChange() async throws -> ProtocolChange {
    connection.assertInEventLoop()
    while true {
      try checkSending()
      guard !connection.hasFailed else {
        throw TransportError.closedBeforeResponse(wasReused: record.isReusedConnection)
      }
      if let isOffered = connection.enablesConnectProtocol { return isOffered ? .extendedConnect : .impossible }
      connection.awaitSettings(self)
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
    let made = StreamTunnel(self, loop: connection.quic.channel.eventLoop)
    tunnel = made
    record.responseEnd = .now()
    return made
  }

  /// The next bytes that have arrived; the server may send as many more.
  func takeArrived() -> ByteBuffer? {
    guard let (chunk, _) = incoming.takeChunk() else { return nil }
    if let machine, let stream, !incoming.isComplete {
      cquic_consumed(machine, stream, chunk.readableBytes)
      connection.quic.scheduleSend()
    }
    return chunk
  }

  var endOfArrivals: Result<Void, any Error>? {
    if let error = abortError { return .failure(error) }
    if incoming.isComplete { return .success(()) }
    return receiveFailure.map { .failure($0) }
  }

  var hasFinishedSending: Bool { requestIsComplete || abortError != nil || sendFailure != nil }

  func finish(sending last: ByteBuffer?) {
    guard !hasFinishedSending, let machine, let stream else { return }
    if let last {
      _ = last.withUnsafeReadableBytes {
        cquic_write(machine, stream, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
      }
    }
    guard cquic_finish(machine, stream, nil, 0) != 0 else { return }
    requestFinished()
    connection.quic.scheduleSend()
  }

  // MARK: End

  func abort(_ error: any Error) {
    connection.assertInEventLoop()
    guard abortError == nil, !hasEnded else { return }
    stop(error)
  }

  func end() {
    connection.assertInEventLoop()
    guard !hasEnded else { return }
    hasEnded = true
    let served = incoming.isComplete
    if abortError == nil { stop(TransportError.connectionLost(reason: "the exchange has ended")) }
    tunnel = nil
    connection.ended(self, served: served)
  }

  /// Whatever waits gets `error`; the server is told that the stream is not wanted, and the connection goes on.
  private func stop(_ error: any Error) {
    abortError = error
    // The rest of a complete message is not cut off: what is left of the request still arrives, as is its end.
    if let machine, let stream, !(incoming.isComplete && requestIsComplete) {
      cquic_cancel(machine, stream, HTTP3ErrorCode.requestCancelled.rawValue)
      connection.quic.scheduleSend()
      connection.gaveUp(requestSince: record.requestStart)
    }
    resumeReader()
    resumeWriterIfPossible()
  }
}
#endif

import DequeModule
import NIOCore

/// The exchange whose stream a tunnel has.
protocol TunnelEnd: HTTPExchange {
  /// Bytes that the peer has sent and that were not taken yet.
  func takeArrived() -> ByteBuffer?
  /// How receiving ended; nil as long as more may come.
  var endOfArrivals: Result<Void, any Error>? { get }
  /// Whether nothing more will leave on this stream.
  var hasFinishedSending: Bool { get }
  /// Sends `last` behind what is still to be sent, and then the stream's end, as the window allows.
  func finish(sending last: ByteBuffer?)
}

/// A stream of HTTP/2 or HTTP/3 that carries another protocol since an extended CONNECT (RFC 8441 §5, RFC 9220 §3), as a
/// `DuplexStream`. Confined to the connection's loop.
///
/// Bytes travel in DATA, both ways within the stream's window, which is not opened for bytes that are not read. The end of
/// the stream stands for TCP's FIN, its reset for TCP's RST.
final class StreamTunnel: DuplexStream, @unchecked Sendable {
  private let exchange: any TunnelEnd
  private let loop: any EventLoop
  private var putBack = Deque<ByteBuffer>()
  private var reader: UnsafeContinuation<ByteBuffer?, any Error>?
  private var inputEndActions: [@Sendable () -> Void] = []
  private var deadline: Scheduled<Void>?
  private var isEnding = false
  private var isClosed = false

  init(_ exchange: any TunnelEnd, loop: any EventLoop) {
    self.exchange = exchange
    self.loop = loop
  }

  // MARK: DuplexStream

  func read() async throws -> ByteBuffer? {
    loop.assertInEventLoop()
    if let bytes = putBack.popFirst() { return bytes }
    if isEnding || isClosed { return nil }
    if let outcome = arrived() { return try outcome.get() }
    return try await withUnsafeThrowingContinuation { reader = $0 }
  }

  func unread(_ bytes: ByteBuffer) {
    loop.assertInEventLoop()
    putBack.prepend(bytes)
  }

  func write(_ bytes: ByteBuffer) async throws {
    loop.assertInEventLoop()
    guard !isEnding, !isClosed else { throw StreamTunnel.closed }
    try await exchange.write(bytes)
  }

  func closeWrite() async throws {
    loop.assertInEventLoop()
    try await exchange.finish(trailers: nil)
  }

  func end(sending last: ByteBuffer?, patience: TimeAmount) {
    loop.assertInEventLoop()
    guard !isEnding, !isClosed else { return close() }
    isEnding = true
    putBack = []
    resumeReader(.success(nil))
    deadline = loop.assumeIsolated().scheduleTask(in: patience) { self.close() }
    exchange.finish(sending: last)
    advance()
  }

  func close() {
    loop.assertInEventLoop()
    guard !isClosed else { return }
    isClosed = true
    deadline?.cancel()
    deadline = nil
    resumeReader(.failure(StreamTunnel.closed))
    tellOfInputEnd()
    exchange.end()
  }

  func whenInputEnds(_ action: @escaping @Sendable () -> Void) {
    loop.assertInEventLoop()
    if isClosed || exchange.endOfArrivals != nil { action() } else { inputEndActions.append(action) }
  }

  func startTLS(_ terms: TLSTerms) async throws {
    throw TransportError.invalidRequest(reason: "the stream is secure already")
  }

  private static let closed = TransportError.connectionLost(reason: "the connection is closed")

  // MARK: What the exchange reports

  /// Something came, or left, or ended.
  func advance() {
    loop.assertInEventLoop()
    guard !isClosed else { return }
    if isEnding {
      while exchange.takeArrived() != nil {}
      if exchange.endOfArrivals != nil, exchange.hasFinishedSending { close() }
    } else if reader != nil, let outcome = arrived() {
      resumeReader(outcome)
    }
    if exchange.endOfArrivals != nil { tellOfInputEnd() }
  }

  /// The result of a read now; nil when it has to wait.
  private func arrived() -> Result<ByteBuffer?, any Error>? {
    if let bytes = exchange.takeArrived() { return .success(bytes) }
    return exchange.endOfArrivals?.map { nil }
  }

  private func resumeReader(_ outcome: Result<ByteBuffer?, any Error>) {
    guard let reader else { return }
    self.reader = nil
    reader.resume(with: outcome)
  }

  private func tellOfInputEnd() {
    let actions = inputEndActions
    inputEndActions = []
    for action in actions { action() }
  }
}

import HTTPSemantics
import NIOCore
import NIOHPACK

/// The response of one stream as it arrives, checked, and waiting to be read. No socket, no clock.
package struct HTTP2IncomingResponse {
  /// The method of the request that is answered: the body's length depends on it.
  package var method = "GET"
  /// The request was an extended CONNECT: with a 2xx the stream becomes a tunnel (RFC 8441 §5).
  package var mayOpenTunnel = false
  /// The body is the bytes of another protocol, until the stream ends.
  package private(set) var isTunnel = false
  private var window: HTTP2ReceiveWindow
  private var heads = ShortQueue<HTTPResponseHead>()
  private var chunks = ShortQueue<ByteBuffer>()
  /// How long the body has to be; nil before the final head.
  private var framing: ResponseFraming?
  private var bodyBytes: Int64 = 0
  package private(set) var trailers: HTTPFields?
  /// Bytes of heads and trailers on the wire, framing included.
  package private(set) var headerBytes = 0
  /// The same fields without compression, as RFC 9113 §6.5.2 counts them: a byte on the wire may stand for thousands.
  private var listBytes = 0
  private var interimResponses = 0
  /// Bytes of the body on the wire, framing included.
  package private(set) var framedBodyBytes: Int64 = 0
  /// The stream's end has arrived; what is unread can still be taken.
  package private(set) var isComplete = false
  package private(set) var lastArrival: NIODeadline?

  /// Frames of a body are joined up to this size: each chunk costs the whole way up to the app.
  private static let chunkBytes = 256 * 1024
  /// Bytes in a buffer of this size or less are not worth copying.
  private static let smallBuffer = 64 * 1024

  /// Whether the end of the message may be told behind its trailers, as in HTTP/3.
  private let endIsSeparate: Bool
  private var hasTrailers = false

  package init(window: HTTP2ReceiveWindow, endIsSeparate: Bool = false) {
    self.window = window
    self.endIsSeparate = endIsSeparate
  }

  // MARK: Arriving

  package mutating func fields(
    _ list: HPACKHeaders, wireSize: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    try fields(HTTP2FieldSection(list), wireSize: wireSize, endsStream: endsStream, at: now)
  }

  package mutating func fields(
    _ section: HTTP2FieldSection, wireSize: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    let limits = ResponseLimits.standard
    lastArrival = now
    headerBytes += wireSize
    guard framing == nil else {
      guard max(wireSize, section.size) <= limits.trailerBytes else { throw .trailersTooLarge }
      guard !isTunnel else { throw .fieldsInTunnel }
      guard endsStream || endIsSeparate, !isComplete, !hasTrailers else { throw .trailersBeforeEnd }
      hasTrailers = true
      let fields = try HTTP2ResponseFields.trailers(section.list)
      trailers = fields.fields.isEmpty ? nil : fields
      if endsStream { try ended() }
      return
    }
    listBytes += section.size
    // Interim responses without end are one head that never comes.
    guard max(headerBytes, listBytes) <= limits.headBytes else { throw .headTooLarge }
    let head: HTTPResponseHead
    if let known = section.head { head = known } else { head = try HTTP2ResponseFields.head(section.list) }
    guard !head.isInformational else {
      guard !endsStream else { throw .endedBeforeHead }
      interimResponses += 1
      guard interimResponses <= limits.interimResponses else { throw .tooManyInterimResponses }
      return heads.append(head)
    }
    isTunnel = mayOpenTunnel && (200..<300).contains(head.status)
    if isTunnel {
      // RFC 9110 §9.3.6: a Content-Length there means nothing.
      framing = .untilClose
    } else {
      do { framing = try ResponseFraming.decide(method: method, head: head) } catch { throw .framing(error) }
    }
    heads.append(head)
    if endsStream { try ended() }
  }

  /// Returns by how much the stream's window is to be opened for padding, which is not read.
  package mutating func data(
    _ bytes: ByteBuffer, flowControlled: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) -> Int {
    try check(bytes.readableBytes, flowControlled: flowControlled, at: now)
    if bytes.readableBytes > 0 { append(bytes) }
    if endsStream { try ended() }
    let padding = flowControlled - bytes.readableBytes
    return padding > 0 && !isComplete ? window.consumed(padding, keepsUp: false) : 0
  }

  /// As `data`, for bytes that are copied, without padding and end. They go straight into the chunk that waits: over HTTP/3 a large
  /// body comes in hundreds of thousands of pieces of a datagram each.
  package mutating func data(copying bytes: UnsafeRawBufferPointer, at now: NIODeadline) throws(HTTP2MessageError) {
    try check(bytes.count, flowControlled: bytes.count, at: now)
    guard bytes.count > 0 else { return }
    let room = HTTP2IncomingResponse.chunkBytes - bytes.count
    // Asked before it is taken: a second reference would have it copied.
    let fits = chunks.last.map { $0.readableBytes <= room } ?? false
    if fits, var last = chunks.popLast() {
      last.writeBytes(bytes)
      chunks.append(last)
    } else {
      var chunk = ByteBufferAllocator().buffer(capacity: bytes.count)
      chunk.writeBytes(bytes)
      chunks.append(chunk)
    }
  }

  /// Counts bytes of the body that arrive.
  private mutating func check(
    _ length: Int, flowControlled: Int, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    lastArrival = now
    guard let framing, !isComplete else { throw .bodyWithoutHead }
    guard !hasTrailers else { throw .trailersBeforeEnd }
    // More than the window allows is more than was agreed on, whatever the length.
    guard window.received(flowControlled) else { throw .bodyTooLong }
    framedBodyBytes += Int64(HTTP2FrameHeader.size + flowControlled)
    bodyBytes += Int64(length)
    switch framing {
    case .none: guard length == 0 else { throw .bodyTooLong }
    case .length(let announced): guard bodyBytes <= announced else { throw .bodyTooLong }
    case .chunked, .untilClose: break
    }
  }

  /// The message ends without a frame that says so, as in HTTP/3.
  package mutating func end(at now: NIODeadline) throws(HTTP2MessageError) {
    lastArrival = now
    guard framing != nil else { throw .endedBeforeHead }
    if !isComplete { try ended() }
  }

  private mutating func append(_ bytes: ByteBuffer) {
    guard var last = chunks.popLast() else { return chunks.append(held(bytes)) }
    if last.readableBytes + bytes.readableBytes <= HTTP2IncomingResponse.chunkBytes {
      last.writeImmutableBuffer(bytes)
      chunks.append(last)
    } else {
      chunks.append(last)
      chunks.append(held(bytes))
    }
  }

  /// A few bytes keep the whole buffer alive that they were read into, which may be large after a large body: they are
  /// copied out of it.
  private func held(_ bytes: ByteBuffer) -> ByteBuffer {
    bytes.storageCapacity > HTTP2IncomingResponse.smallBuffer && bytes.isSparse ? bytes.compacted() : bytes
  }

  /// Whether bytes of the body have not arrived that Content-Length announces.
  package var lacksBytes: Bool {
    if case .length(let length)? = framing { bodyBytes < length } else { false }
  }

  private mutating func ended() throws(HTTP2MessageError) {
    if case .length(let length)? = framing, bodyBytes != length {
      throw .bodyTooShort(received: bodyBytes, expected: length)
    }
    isComplete = true
  }

  // MARK: Reading

  package mutating func takeHead() -> HTTPResponseHead? { heads.popFirst() }

  /// The next bytes, and by how much the stream's window is to be opened for them; nil when there are none yet.
  ///
  /// - Parameter roundTrip: the shortest time of a round trip on this path; nil where it is not known.
  package mutating func takeChunk(roundTrip: () -> TimeAmount? = { nil }) -> (ByteBuffer, windowIncrement: Int)? {
    guard let chunk = chunks.popFirst() else { return nil }
    let increment = window.consumed(chunk.readableBytes, keepsUp: chunks.isEmpty, roundTrip: roundTrip)
    return (chunk, isComplete ? 0 : increment)
  }
}

import DequeModule
import HTTPSemantics
import NIOCore
import NIOHPACK

/// The response of one stream as it arrives, checked, and waiting to be read. No socket, no clock.
package struct HTTP2IncomingResponse {
  /// Of the request that is answered: the body's length depends on it.
  package var method = "GET"
  /// The request was an extended CONNECT: with a 2xx the stream becomes a tunnel (RFC 8441 §5).
  package var mayOpenTunnel = false
  /// What comes are the bytes of another protocol, as many as there are.
  package private(set) var isTunnel = false
  private var window: HTTP2ReceiveWindow
  private var heads = Deque<HTTPResponseHead>()
  private var chunks = Deque<ByteBuffer>()
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
  /// Bytes of all heads and trailers, as they are on the wire and as they are in memory.
  private static let headerBytesLimit = 256 * 1024
  /// A server that is busy for hours says so now and then; more than this says nothing.
  package static let maximumInterimResponses = 256

  package init(window: HTTP2ReceiveWindow) { self.window = window }

  // MARK: Arriving

  package mutating func fields(
    _ list: HPACKHeaders, wireSize: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) {
    lastArrival = now
    headerBytes += wireSize
    listBytes += list.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    // Interim responses without end are one head that never comes.
    guard max(headerBytes, listBytes) <= HTTP2IncomingResponse.headerBytesLimit else { throw .headTooLarge }
    guard framing == nil else {
      guard !isTunnel else { throw .fieldsInTunnel }
      guard endsStream, !isComplete else { throw .trailersBeforeEnd }
      let fields = try HTTP2ResponseFields.trailers(list)
      trailers = fields.fields.isEmpty ? nil : fields
      return try ended()
    }
    let head = try HTTP2ResponseFields.head(list)
    guard !head.isInformational else {
      guard !endsStream else { throw .endedBeforeHead }
      interimResponses += 1
      guard interimResponses <= HTTP2IncomingResponse.maximumInterimResponses else { throw .tooManyInterimResponses }
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

  /// Returns by how much the stream's window is to be opened for padding, which nobody reads.
  package mutating func data(
    _ bytes: ByteBuffer, flowControlled: Int, endsStream: Bool, at now: NIODeadline
  ) throws(HTTP2MessageError) -> Int {
    lastArrival = now
    guard let framing, !isComplete else { throw .bodyWithoutHead }
    // More than the window allows is more than was agreed on, whatever the length.
    guard window.received(flowControlled) else { throw .bodyTooLong }
    framedBodyBytes += Int64(HTTP2FrameHeader.size + flowControlled)
    bodyBytes += Int64(bytes.readableBytes)
    switch framing {
    case .none: guard bytes.readableBytes == 0 else { throw .bodyTooLong }
    case .length(let length): guard bodyBytes <= length else { throw .bodyTooLong }
    case .chunked, .untilClose: break
    }
    if bytes.readableBytes > 0 { append(bytes) }
    if endsStream { try ended() }
    let padding = flowControlled - bytes.readableBytes
    return padding > 0 && !isComplete ? window.consumed(padding, keepsUp: false) : 0
  }

  private mutating func append(_ bytes: ByteBuffer) {
    guard var last = chunks.popLast() else { return chunks.append(bytes) }
    if last.readableBytes + bytes.readableBytes <= HTTP2IncomingResponse.chunkBytes {
      last.writeImmutableBuffer(bytes)
      chunks.append(last)
    } else {
      chunks.append(last)
      chunks.append(bytes)
    }
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
  package mutating func takeChunk() -> (ByteBuffer, windowIncrement: Int)? {
    guard let chunk = chunks.popFirst() else { return nil }
    let increment = window.consumed(chunk.readableBytes, keepsUp: chunks.isEmpty)
    return (chunk, isComplete ? 0 : increment)
  }
}

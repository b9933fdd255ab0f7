import HTTPSemantics
import NIOCore

/// Makes messages out of a server's bytes (RFC 6455 §5.4 to §5.6, RFC 7692 §7.2.2), which may arrive in any pieces.
///
/// 1. `append` takes what was read from the connection.
/// 2. `next()` is called until it returns nil: then more bytes are needed. A control frame comes out as soon as it is
///    there, also between the fragments of a message; a message when its last fragment is.
/// 3. After `.close`, and after an error, nothing more comes.
///
/// A text is checked for being UTF-8 while it arrives, so that a wrong one ends the connection at its first wrong byte.
package struct WebSocketReader {
  package enum Event: Sendable, Equatable {
    case message(isText: Bool, ByteBuffer)
    case ping(ByteBuffer)
    case pong(ByteBuffer)
    case close(WebSocketCloseStatus)
  }

  private enum State {
    case head
    case payload(WebSocketFrame, remaining: Int)
    case over
  }

  /// A message whose last fragment has not come.
  private struct Message {
    let isText: Bool
    let isCompressed: Bool
    var payload = ByteBuffer()
    var utf8 = UTF8Validation()
  }

  /// Most bytes of one message, after decompression; what is beyond `limit(for:)` has no effect.
  package var maximumMessageSize: Int {
    didSet { maximumMessageSize = WebSocketReader.limit(for: maximumMessageSize) }
  }
  private let inflater: MessageInflater?
  private var input = ByteBuffer()
  private var state = State.head
  private var message: Message?

  /// - Parameter compression: nil when the handshake agreed on none.
  package init(maximumMessageSize: Int, compression: MessageCompression?) throws(WebSocketViolation) {
    self.maximumMessageSize = WebSocketReader.limit(for: maximumMessageSize)
    inflater = compression == nil ? nil : MessageInflater(forgets: compression?.serverForgets ?? false)
    if compression != nil, inflater == nil { throw .invalidCompression }
  }

  /// The limit that a wish comes to: from nothing to 1 GiB, since a message is collected in a buffer that can't hold 4.
  package static func limit(for wish: Int) -> Int { min(max(0, wish), 1 << 30) }

  package mutating func append(_ bytes: ByteBuffer) {
    guard input.readableBytes > 0 else {
      input = bytes
      return
    }
    // The rest is at most a control frame; its storage is shared with messages handed out.
    var joined = ByteBufferAllocator().buffer(capacity: input.readableBytes + bytes.readableBytes)
    joined.writeImmutableBuffer(input)
    joined.writeImmutableBuffer(bytes)
    input = joined
  }

  package mutating func next() throws(WebSocketViolation) -> Event? {
    do {
      while true {
        switch state {
        case .over: return nil
        case .head:
          guard let frame = try WebSocketFrame.parse(&input, allowsCompression: inflater != nil) else {
            if input.readableBytes == 0 { input = ByteBuffer() }
            return nil
          }
          try begin(frame)
          state = .payload(frame, remaining: frame.length)
        case .payload(let frame, let remaining):
          if frame.opcode.isControl {
            guard let payload = input.readSlice(length: frame.length) else { return nil }
            state = .head
            return try control(frame.opcode, payload)
          }
          let count = min(remaining, input.readableBytes)
          if count > 0, let piece = input.readSlice(length: count) { try take(piece) }
          guard count == remaining else {
            state = .payload(frame, remaining: remaining - count)
            return nil
          }
          state = .head
          if frame.isFinal, let event = try finish() { return event }
        }
      }
    } catch {
      state = .over
      message = nil
      throw error
    }
  }

  /// §5.4: what a data frame may follow.
  private mutating func begin(_ frame: WebSocketFrame) throws(WebSocketViolation) {
    switch frame.opcode {
    case .continuation: guard message != nil else { throw .continuationOfNothing }
    case .text, .binary:
      guard message == nil else { throw .messageInsideMessage }
      message = Message(isText: frame.opcode == .text, isCompressed: frame.isCompressed)
    case .close, .ping, .pong: return
    }
    guard let message, !message.isCompressed else { return }
    // Refused before its bytes come.
    guard frame.length <= maximumMessageSize - message.payload.readableBytes else {
      throw .messageTooBig(limit: maximumMessageSize)
    }
  }

  private mutating func take(_ piece: ByteBuffer) throws(WebSocketViolation) {
    guard var current = message else { return }
    // Not held twice while it grows.
    message = nil
    let start = current.payload.writerIndex
    if current.isCompressed {
      try inflater?.inflate(piece, into: &current.payload, limit: maximumMessageSize)
    } else if current.payload.readableBytes == 0 {
      current.payload = piece
    } else {
      current.payload.writeImmutableBuffer(piece)
    }
    try check(&current, from: start)
    message = current
  }

  private mutating func finish() throws(WebSocketViolation) -> Event? {
    guard var current = message else { return nil }
    message = nil
    if current.isCompressed {
      let start = current.payload.writerIndex
      try inflater?.finishMessage(into: &current.payload, limit: maximumMessageSize)
      try check(&current, from: start)
    }
    guard !current.isText || current.utf8.isComplete else { throw .invalidUTF8 }
    return .message(isText: current.isText, current.payload)
  }

  private func check(_ message: inout Message, from start: Int) throws(WebSocketViolation) {
    guard message.isText else { return }
    let payload = message.payload
    // The first piece replaced an empty buffer and begins where it was sliced.
    let first = max(start, payload.readerIndex)
    let isValid = payload.withUnsafeReadableBytes { bytes in
      message.utf8.take(UnsafeRawBufferPointer(rebasing: bytes[(first - payload.readerIndex)...]))
    }
    guard isValid else { throw .invalidUTF8 }
  }

  private mutating func control(
    _ opcode: WebSocketFrame.Opcode, _ payload: ByteBuffer
  ) throws(WebSocketViolation) -> Event? {
    switch opcode {
    case .ping: return .ping(payload)
    case .pong: return .pong(payload)
    default:
      let status = try WebSocketCloseStatus(payload: payload.readableBytesView)
      state = .over
      message = nil
      return .close(status)
    }
  }
}

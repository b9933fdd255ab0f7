import HTTPSemantics
import NIOCore

/// Parses the responses of one HTTP/1.1 connection out of bytes that arrive in any pieces (RFC 9112).
///
/// 1. `expect(method:)` says which request the next response answers: its length depends on that.
/// 2. `parse(_:)` is called, again and again, until it returns nil: then more bytes are needed. Every head is one
///    `.head`: interim ones (1xx) first, the final one last. A body comes as `.body` slices that share the input's
///    storage, and `.end` closes each response, also one without a body. `.end` may be due when no input is left.
/// 3. The parser is then between messages. Bytes still in the input answer no request.
///
/// Consumed bytes are taken from the input; those of an incomplete line stay there and have to be presented again, in
/// front of what follows. When the connection ends, `endOfInput()` tells whether the response may end there.
/// After an error every call throws the same error.
package struct HTTP1ResponseParser {
  package enum Event: Sendable, Equatable {
    case head(HTTPResponseHead)
    /// Never empty.
    case body(ByteBuffer)
    /// Trailers are nil when there were none.
    case end(trailers: HTTPFields?)
  }

  package typealias Limits = ResponseLimits

  private enum State {
    case betweenMessages
    /// Empty lines were skipped before it.
    case statusLine(emptyLines: Int)
    case headerFields
    /// The response is complete but for its `.end`.
    case complete
    case body(remaining: Int64)
    case chunkHeader
    case chunkData(remaining: Int64)
    /// The CRLF after a chunk's data.
    case chunkEnd
    case trailerFields
    case bodyUntilClose
    case failed(HTTP1ParseError)
  }

  private let limits: Limits
  private var state = State.betweenMessages
  private var method = "GET"
  private var lines: HTTP1LineReader
  private var statusLine = HTTP1StatusLine()
  private var fieldLines: HTTP1FieldLines
  private var interimResponses = 0
  private let memory: HTTP1ResponseMemory

  /// Bytes consumed as head of the current or last response, interim responses included.
  package private(set) var headerBytes = 0
  /// Bytes consumed behind the head of the current or last response: its body with its framing.
  package private(set) var framedBodyBytes: Int64 = 0
  /// Bytes of the current or last response's body that have been handed out.
  package private(set) var bodyBytes: Int64 = 0
  /// How the body of the current or last response is delimited; nil before its head.
  package private(set) var framing: ResponseFraming?
  /// Whether another response can follow on this connection, once the current or last one is complete.
  package private(set) var keepsAlive = false

  /// - Parameter memory: Shared by parsers with the same limits.
  package init(limits: Limits = .standard, memory: HTTP1ResponseMemory = HTTP1ResponseMemory()) {
    self.limits = limits
    self.memory = memory
    lines = HTTP1LineReader(limit: limits.headBytes, overflow: .headTooLarge)
    fieldLines = HTTP1FieldLines(limit: limits.fields)
  }

  /// Whether no response is expected or under way: bytes that come now are unsolicited.
  package var isBetweenMessages: Bool {
    if case .betweenMessages = state { true } else { false }
  }

  /// Whether nothing can come of a further call without further input.
  package var needsInput: Bool {
    switch state {
    case .complete, .failed: false
    default: true
    }
  }

  /// Whether the bytes that come now are delimited by HTTP: not behind a 101, and not in a body that ends with the
  /// connection.
  package var isFramed: Bool {
    switch state {
    case .betweenMessages, .complete, .bodyUntilClose: false
    default: true
    }
  }

  /// The next response answers a request of this method.
  package mutating func expect(method: String) {
    if case .failed = state { return }
    self.method = method
    state = .statusLine(emptyLines: 0)
    lines = HTTP1LineReader(limit: limits.headBytes, overflow: .headTooLarge)
    _ = fieldLines.take()
    headerBytes = 0
    interimResponses = 0
    bodyBytes = 0
    framedBodyBytes = 0
    framing = nil
    keepsAlive = false
  }

  /// The next event; nil when the input has to grow first, or the parser is between messages.
  package mutating func parse(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Event? {
    let (available, ofHead) = (input.readableBytes, headerBytes)
    defer { framedBodyBytes += Int64(available - input.readableBytes - (headerBytes - ofHead)) }
    do {
      return try advance(&input)
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// The connection has ended, and `parse(_:)` has returned nil. Returns the event that this brings about: the end of
  /// a body that lasts until then. nil between messages.
  package mutating func endOfInput() throws(HTTP1ParseError) -> Event? {
    let error: HTTP1ParseError
    switch state {
    case .betweenMessages: return nil
    case .complete, .bodyUntilClose:
      state = .betweenMessages
      return .end(trailers: nil)
    case .statusLine: error = headerBytes > 0 || lines.hasSeenBytes ? .truncated(.head) : .closedBeforeHead
    case .headerFields: error = .truncated(.head)
    case .body(let remaining): error = .truncated(.body(received: bodyBytes, expected: bodyBytes + remaining))
    case .chunkHeader, .chunkData, .chunkEnd, .trailerFields: error = .truncated(.chunkedBody(received: bodyBytes))
    case .failed(let earlier): error = earlier
    }
    state = .failed(error)
    throw error
  }

  private mutating func advance(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Event? {
    while true {
      switch state {
      case .betweenMessages:
        return nil
      case .statusLine, .headerFields:
        return try readHead(&input)
      case .complete:
        state = .betweenMessages
        return .end(trailers: nil)
      case .body(let remaining):
        guard let (chunk, rest) = take(upTo: remaining, of: &input) else { return nil }
        state = rest == 0 ? .complete : .body(remaining: rest)
        return .body(chunk)
      case .chunkData(let remaining):
        guard let (chunk, rest) = take(upTo: remaining, of: &input) else { return nil }
        state = rest == 0 ? .chunkEnd : .chunkData(remaining: rest)
        return .body(chunk)
      case .bodyUntilClose:
        return take(upTo: .max, of: &input).map { .body($0.chunk) }
      case .chunkHeader:
        guard try readChunkHeader(&input) else { return nil }
      case .chunkEnd:
        guard try readChunkEnd(&input) else { return nil }
      case .trailerFields:
        return try readTrailers(&input)
      case .failed(let error):
        throw error
      }
    }
  }
}

// MARK: Head

extension HTTP1ResponseParser {
  private mutating func readHead(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Event? {
    // Whether the input begins with the first byte of the response.
    let isWhole = headerBytes == 0 && !lines.hasSeenBytes
    var consumed = 0
    let head = try input.withUnsafeReadableBytes { bytes throws(HTTP1ParseError) -> HTTPResponseHead? in
      if isWhole, let (known, length) = memory.head(of: bytes) {
        consumed = length
        return known
      }
      if case .statusLine(let emptyLines) = state {
        guard try readStatusLine(bytes, at: &consumed, after: emptyLines) else { return nil }
        state = .headerFields
      }
      guard try fieldLines.read(bytes, at: &consumed, lines: &lines) else { return nil }
      let head = HTTPResponseHead(
        version: statusLine.version, status: statusLine.status, reason: statusLine.reason, fields: fieldLines.take())
      if isWhole { memory.parsed(head, from: UnsafeRawBufferPointer(rebasing: bytes[..<consumed])) }
      return head
    }
    input.moveReaderIndex(forwardBy: consumed)
    headerBytes += consumed
    guard let head else { return nil }
    return try headEnded(head)
  }

  private mutating func readStatusLine(
    _ bytes: UnsafeRawBufferPointer, at position: inout Int, after emptyLines: Int
  ) throws(HTTP1ParseError) -> Bool {
    var emptyLines = emptyLines
    while let line = try lines.next(in: bytes, at: position) {
      let start = position
      position = line.next
      if line.end > start {
        statusLine = try HTTP1StatusLine(bytes, from: start, to: line.end)
        return true
      }
      // RFC 9112 §2.2 asks servers to skip an empty line before a request; clients meet them after a body too.
      emptyLines += 1
      guard emptyLines <= 2 else { throw .invalidStatusLine }
      state = .statusLine(emptyLines: emptyLines)
    }
    let isLoneCarriageReturn = bytes.count - position == 1 && bytes[position] == 0x0D
    guard isLoneCarriageReturn || HTTP1StatusLine.canBegin(bytes, from: position, to: bytes.count) else {
      throw .invalidStatusLine
    }
    return false
  }

  private mutating func headEnded(_ head: HTTPResponseHead) throws(HTTP1ParseError) -> Event {
    let framing: ResponseFraming
    do { framing = try ResponseFraming.decide(method: method, head: head) } catch { throw .framing(error) }
    // RFC 9110 §15.2: interim responses precede the final one. After 101 another protocol is spoken: it is the last.
    if head.isInformational && head.status != 101 {
      interimResponses += 1
      guard interimResponses <= limits.interimResponses else { throw .tooManyInterimResponses }
      state = .statusLine(emptyLines: 0)
      return .head(head)
    }
    self.framing = framing
    let isTunnel = head.status == 101 || (method == "CONNECT" && (200..<300).contains(head.status))
    keepsAlive = !isTunnel && framing.allowsReuse && ResponseFraming.keepsAlive(head: head)
    switch framing {
    case .none, .length(0): state = .complete
    case .length(let length): state = .body(remaining: length)
    case .chunked: startChunkHeader()
    case .untilClose: state = .bodyUntilClose
    }
    return .head(head)
  }
}

// MARK: Body

extension HTTP1ResponseParser {
  /// The next bytes of a body, without copying them, and how many are still to come; nil when there are none yet.
  private mutating func take(upTo limit: Int64, of input: inout ByteBuffer) -> (chunk: ByteBuffer, rest: Int64)? {
    let count = Int(min(Int64(input.readableBytes), limit))
    guard count > 0, let chunk = input.readSlice(length: count) else { return nil }
    bodyBytes += Int64(count)
    return (chunk, limit - Int64(count))
  }

  private mutating func startChunkHeader() {
    lines = HTTP1LineReader(limit: limits.chunkHeaderBytes, overflow: .chunkHeaderTooLarge)
    state = .chunkHeader
  }

  private mutating func readChunkHeader(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Bool {
    var consumed = 0
    let size = try input.withUnsafeReadableBytes { bytes throws(HTTP1ParseError) -> Int64? in
      guard let line = try lines.next(in: bytes, at: 0) else { return nil }
      consumed = line.next
      return try HTTP1ChunkHeader.size(bytes, line: line)
    }
    guard let size else { return false }
    input.moveReaderIndex(forwardBy: consumed)
    if size > 0 {
      state = .chunkData(remaining: size)
    } else {
      lines = HTTP1LineReader(limit: limits.trailerBytes, overflow: .trailersTooLarge)
      state = .trailerFields
    }
    return true
  }

  /// RFC 9112 §7.1: CRLF, and nothing else, follows a chunk's data.
  private mutating func readChunkEnd(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Bool {
    let ending = input.readableBytesView.prefix(2)
    guard ending.elementsEqual([0x0D, 0x0A].prefix(ending.count)) else { throw .chunkOverrun }
    guard ending.count == 2 else { return false }
    input.moveReaderIndex(forwardBy: 2)
    startChunkHeader()
    return true
  }

  private mutating func readTrailers(_ input: inout ByteBuffer) throws(HTTP1ParseError) -> Event? {
    var consumed = 0
    let isComplete = try input.withUnsafeReadableBytes { bytes throws(HTTP1ParseError) in
      try fieldLines.read(bytes, at: &consumed, lines: &lines)
    }
    input.moveReaderIndex(forwardBy: consumed)
    guard isComplete else { return nil }
    let trailers = fieldLines.take()
    state = .betweenMessages
    return .end(trailers: trailers.fields.isEmpty ? nil : trailers)
  }
}

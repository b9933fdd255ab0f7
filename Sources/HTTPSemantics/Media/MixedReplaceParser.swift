/// Takes a `multipart/x-mixed-replace` body apart while it arrives: the parts of RFC 2046 §5.1, each of which replaces
/// the one before it.
///
/// `append(_:)` what has arrived, then ask for `next()` until it is nil; `end()` when no more will come. Bodies are
/// handed out as soon as they can't be the start of a delimiter. Read leniently, as cameras write them: LF for CRLF, a
/// boundary whose dashes are in the parameter already, parts without the line break that belongs to the delimiter when
/// their length is announced. What comes before the first delimiter and after the last is dropped.
package struct MixedReplaceParser: Sendable {
  package enum Event: Sendable, Equatable {
    /// A part begins.
    case head(HTTPFields)
    /// Never empty.
    case body([UInt8])
    case endOfPart
  }

  package enum Failure: Error, Equatable {
    case headTooLarge
    case tooManyFields
  }

  /// The most bytes that a part's head may have.
  package struct Limits: Sendable {
    package var headBytes = 64 * 1024
    package var fields = 200

    package init() {}
  }

  private enum State {
    /// The preamble, or what follows a part whose length was announced.
    case betweenParts
    case head(PartHead)
    case body
    case measuredBody(remaining: Int64)
    case epilogue
    case failed(Failure)
  }

  private let limits: Limits
  private var state = State.betweenParts
  private var delimiters: DelimiterMatcher
  private var buffer: [UInt8] = []
  /// Bytes of the buffer that were consumed.
  private var start = 0
  /// Whether a delimiter may stand at `start` without a line break before it.
  private var isAtLineStart = true
  private var hasEnded = false

  /// - Parameter boundary: what `boundary(in:)` found.
  package init(boundary: String, limits: Limits = Limits()) {
    self.limits = limits
    delimiters = DelimiterMatcher(boundary: boundary)
  }

  /// The boundary in a Content-Type; nil when it has another type, no boundary, or one too long to be meant.
  package static func boundary(in contentType: String) -> String? {
    // Told from the first letter: nearly every response has another type.
    guard (contentType.utf8.first { !$0.isHTTPWhitespace }).map(\.lowercased) == UInt8(ascii: "m"),
      let type = MediaType(parsing: contentType), type.essence == "multipart/x-mixed-replace",
      let boundary = type.parameters["boundary"], (1...1000).contains(boundary.utf8.count)
    else { return nil }
    return boundary
  }

  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// The body is complete. `next()` gives what was held back; a part that is cut off ends where it is.
  package mutating func end() { hasEnded = true }

  /// The next event; nil when more bytes are needed, or when all is said. After an error always that error.
  package mutating func next() throws(Failure) -> Event? {
    while true {
      switch state {
      case .betweenParts: guard skip() else { return nil }
      case .head(var head):
        guard let isComplete = try readLine(&head) else { return nil }
        if isComplete { return .head(head.fields) }
      case .body: return readBody()
      case .measuredBody(let remaining): return readBody(remaining)
      case .epilogue:
        consume(buffer.count - start)
        return nil
      case .failed(let failure): throw failure
      }
    }
  }

  private mutating func consume(_ count: Int) {
    guard count > 0 else { return }
    isAtLineStart = buffer[start + count - 1] == 0x0A
    start += count
  }

  private mutating func fail(_ failure: Failure) -> Failure {
    state = .failed(failure)
    buffer = []
    start = 0
    return failure
  }
}

// MARK: Between delimiters

extension MixedReplaceParser {
  private enum Scan {
    /// So many bytes are no part of a delimiter; what follows them, if anything, is undecided.
    case plain(Int)
    /// A delimiter after so many other bytes; `end` is the offset behind it.
    case delimiter(after: Int, end: Int, isLast: Bool)
  }

  private mutating func scan() -> Scan {
    if isAtLineStart {
      switch delimiters.match(buffer, at: start, isComplete: hasEnded) {
      case .no: break
      case .undecided: return .plain(0)
      case .yes(let end, let isLast): return .delimiter(after: 0, end: end, isLast: isLast)
      }
    }
    var searched = start
    while let lineFeed = buffer[searched...].firstIndex(of: 0x0A) {
      // RFC 2046 §5.1.1: the line break before a delimiter belongs to it.
      let lineBreak = lineFeed > start && buffer[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
      searched = lineFeed + 1
      switch delimiters.match(buffer, at: searched, isComplete: hasEnded) {
      case .no: continue
      case .undecided: return .plain(lineBreak - start)
      case .yes(let end, let isLast): return .delimiter(after: lineBreak - start, end: end, isLast: isLast)
      }
    }
    let mayBreak = !hasEnded && buffer.count > start && buffer[buffer.count - 1] == 0x0D
    return .plain(buffer.count - start - (mayBreak ? 1 : 0))
  }

  private mutating func pass(delimiterEndingAt end: Int, isLast: Bool) {
    start = end
    state = isLast ? .epilogue : .head(PartHead())
  }

  /// Drops what is before the next delimiter and the delimiter. Returns false when it has not come.
  private mutating func skip() -> Bool {
    switch scan() {
    case .plain(let count):
      consume(count)
      return false
    case .delimiter(_, let end, let isLast):
      pass(delimiterEndingAt: end, isLast: isLast)
      return true
    }
  }

  private mutating func readBody() -> Event? {
    switch scan() {
    case .plain(0):
      guard hasEnded else { return nil }
      state = .epilogue
      return .endOfPart
    case .plain(let count): return take(count)
    case .delimiter(0, let end, let isLast):
      pass(delimiterEndingAt: end, isLast: isLast)
      return .endOfPart
    case .delimiter(let count, _, _): return take(count)
    }
  }

  private mutating func readBody(_ remaining: Int64) -> Event? {
    let count = Int(min(remaining, Int64(buffer.count - start)))
    if count > 0 {
      state = .measuredBody(remaining: remaining - Int64(count))
      return take(count)
    }
    guard remaining == 0 || hasEnded else { return nil }
    state = .betweenParts
    isAtLineStart = true
    return .endOfPart
  }

  private mutating func take(_ count: Int) -> Event {
    let bytes = Array(buffer[start..<start + count])
    consume(count)
    return .body(bytes)
  }
}

// MARK: Heads

extension MixedReplaceParser {
  private struct PartHead {
    var fields = HTTPFields()
    var bytes = 0
    /// Bytes of the incomplete line that hold no line end.
    var searched = 0
  }

  /// Reads one line. Returns whether it ended the head; nil when it is not complete.
  private mutating func readLine(_ head: inout PartHead) throws(Failure) -> Bool? {
    guard let lineFeed = buffer[(start + head.searched)...].firstIndex(of: 0x0A) else {
      guard head.bytes + buffer.count - start <= limits.headBytes else { throw fail(.headTooLarge) }
      head.searched = buffer.count - start
      state = hasEnded ? .epilogue : .head(head)
      return nil
    }
    head.searched = 0
    // Every line counts, also one that turns out to be a delimiter: an incomplete line cannot be told from one.
    head.bytes += lineFeed + 1 - start
    guard head.bytes <= limits.headBytes else { throw fail(.headTooLarge) }
    if case .yes = delimiters.match(buffer, at: start, isComplete: hasEnded) {
      // The head breaks off: a part without a body, whose end is found next.
      isAtLineStart = true
      state = .body
      return true
    }
    let end = lineFeed > start && buffer[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
    let line = buffer[start..<end]
    start = lineFeed + 1
    guard line.isEmpty else {
      PartFieldLine.add(line, to: &head.fields)
      guard head.fields.fields.count <= limits.fields else { throw fail(.tooManyFields) }
      state = .head(head)
      return false
    }
    isAtLineStart = true
    state = MixedReplaceParser.length(of: head.fields).map { .measuredBody(remaining: $0) } ?? .body
    return true
  }

  /// The length that a part announces; nil when it announces none or contradicts itself.
  private static func length(of fields: HTTPFields) -> Int64? {
    let values = Set(fields.values("Content-Length"))
    guard values.count == 1, let value = values.first else { return nil }
    return Int64(decimalDigits: value.utf8)
  }
}

import HTTPSemantics

/// Collects field lines up to the empty line after them (RFC 9112 §5): the header fields of a head, or trailers.
struct HTTP1FieldLines {
  private(set) var fields = HTTPFields()
  private let limit: Int
  /// Whether the last field was ignored, so that its folded lines are too.
  private var isIgnoring = false

  /// - Parameter limit: how many fields there may be.
  init(limit: Int) {
    self.limit = limit
  }

  /// Hands out what was collected and begins anew.
  mutating func take() -> HTTPFields {
    let taken = fields
    fields = HTTPFields()
    isIgnoring = false
    return taken
  }

  /// Reads complete lines from `position` on and moves it behind them.
  /// - Returns: whether the empty line was among them.
  mutating func read(
    _ bytes: UnsafeRawBufferPointer, at position: inout Int, lines: inout HTTP1LineReader
  ) throws(HTTP1ParseError) -> Bool {
    while let line = try lines.next(in: bytes, at: position) {
      let start = position
      position = line.next
      if line.end == start { return true }
      try add(bytes, from: start, to: line.end)
    }
    return false
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) throws(HTTP1ParseError) {
    if bytes[start].isHTTPWhitespace { return try fold(bytes, from: start, to: end) }
    var colon = start
    while colon < end, bytes[colon].isToken { colon += 1 }
    // RFC 9112 §5.1: no whitespace between name and colon; a name has at least one character.
    guard colon > start, colon < end, bytes[colon] == UInt8(ascii: ":") else { throw .invalidFieldName }
    guard let value = HTTP1FieldText.string(bytes, from: colon + 1, to: end) else {
      isIgnoring = HTTP1FieldLines.isIgnoredCookie(bytes, from: start, colon: colon, to: end)
      if isIgnoring { return }
      throw .invalidFieldValue
    }
    isIgnoring = false
    guard fields.fields.count < limit else { throw .tooManyFields }
    // Sixteen fields are more than most responses have: one allocation instead of five.
    if fields.fields.isEmpty { fields.fields.reserveCapacity(16) }
    let name = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<colon]), as: UTF8.self)
    fields.fields.append(HTTPFields.Field(name: name, value: value))
  }

  /// RFC 9112 §5.2: a user agent replaces the obsolete line folding by a space. The first line can't be a continuation
  /// (RFC 9112 §2.2).
  private mutating func fold(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) throws(HTTP1ParseError) {
    let last = fields.fields.count - 1
    guard last >= 0 || isIgnoring else { throw .invalidFieldName }
    guard let more = HTTP1FieldText.string(bytes, from: start, to: end) else { throw .invalidFieldValue }
    guard !more.isEmpty, !isIgnoring else { return }
    if !fields.fields[last].value.isEmpty { fields.fields[last].value += " " }
    fields.fields[last].value += more
  }

  /// RFC 6265bis §5.6 step 1: of a Set-Cookie field with a control character the cookie is ignored, not the response.
  /// NUL and CR are dangerous anywhere (RFC 9110 §5.5).
  private static func isIgnoredCookie(
    _ bytes: UnsafeRawBufferPointer, from start: Int, colon: Int, to end: Int
  ) -> Bool {
    let name = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<colon]), as: UTF8.self)
    return asciiCaseInsensitiveEqual(name, "Set-Cookie") && !bytes[colon..<end].contains { $0 == 0 || $0 == 0x0d }
  }
}

import HTTPSemantics
import HTTPTransport
import NIOCore

/// What the HTTP/1.1 parser makes of bytes: its events, with neighbouring pieces of a body joined.
struct HTTP1Reading: Equatable {
  enum Event: Equatable {
    case head(HTTPResponseHead)
    case body([UInt8])
    case end(HTTPFields?)
  }

  var events: [Event] = []
  /// Bytes that the parser left; nil after an error.
  var leftOver: [UInt8]?
  var error: HTTP1ParseError?

  /// - Parameter methods: Of the requests that are answered, in order.
  init(_ pieces: [ArraySlice<UInt8>], methods: [String], closes: Bool) throws {
    var limits = HTTP1ResponseParser.Limits()
    limits.headBytes = 2_048
    limits.fields = 40
    limits.chunkHeaderBytes = 64
    limits.trailerBytes = 256
    var parser = HTTP1ResponseParser(limits: limits)
    var expected = methods[...]
    var input = ByteBuffer()
    do {
      for piece in [[]] + pieces {
        input.writeBytes(piece)
        repeat {
          if parser.isBetweenMessages, let method = expected.popFirst() { parser.expect(method: method) }
          while let event = try parser.parse(&input) { try add(event, framing: parser.framing) }
        } while parser.isBetweenMessages && !expected.isEmpty
      }
      if closes, let event = try parser.endOfInput() { try add(event, framing: parser.framing) }
      leftOver = Array(buffer: input)
    } catch let error as HTTP1ParseError {
      self.error = error
      try require(!parser.isBetweenMessages, "an error left the parser between messages")
      try require((try? parser.parse(&input)) == nil, "an error was not final")
    }
  }

  private mutating func add(_ event: HTTP1ResponseParser.Event, framing: ResponseFraming?) throws {
    switch event {
    case .head(let head):
      try require((100...999).contains(head.status), "status \(head.status)")
      try HTTP1Reading.check(head.fields)
      events.append(.head(head))
    case .body(let bytes):
      try require(bytes.readableBytes > 0, "an empty piece of a body")
      try require(framing != ResponseFraming.none, "a body where there is none")
      if case .body(let before)? = events.last {
        events[events.count - 1] = .body(before + Array(buffer: bytes))
      } else {
        events.append(.body(Array(buffer: bytes)))
      }
    case .end(let trailers):
      if let trailers { try HTTP1Reading.check(trailers) }
      if case .length(let length)? = framing, length > 0 {
        guard case .body(let body)? = events.last else { throw Contradiction("a body of \(length) bytes is missing") }
        try require(Int64(body.count) == length, "\(body.count) bytes of \(length)")
      }
      events.append(.end(trailers))
    }
  }

  private static func check(_ fields: HTTPFields) throws {
    for field in fields.fields {
      try require(FieldValidation.isFieldName(field.name), "a field named \(field.name.debugDescription)")
      try require(FieldValidation.isFieldValue(field.value), "the value \(field.value.debugDescription)")
    }
  }

  /// Reads at once, in pieces, and byte by byte: the outcome is the same.
  static func whicheverWayItIsCut(
    _ bytes: [UInt8], pieceSize: Int, methods: [String], closes: Bool
  ) throws -> HTTP1Reading {
    let reading = try HTTP1Reading([bytes[...]], methods: methods, closes: closes)
    for size in Set([1, pieceSize]) {
      let other = try HTTP1Reading(bytes.pieces(of: size), methods: methods, closes: closes)
      try require(other == reading, "in pieces of \(size): \(other); at once: \(reading)")
    }
    return reading
  }
}

import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

/// Bytes that a server sends on one connection, and what the parser has to make of them, however they are cut.
struct ScriptedResponse: Sendable, CustomTestStringConvertible {
  var testDescription: String
  /// The methods of the requests that are answered, in order.
  var methods = ["GET"]
  var bytes: [UInt8]
  /// Whether the connection ends after the bytes.
  var closes = false
  var limits = HTTP1ResponseParser.Limits()
  var result: Parsed

  init(
    _ description: String, methods: [String] = ["GET"], _ text: String, closes: Bool = false,
    limits: HTTP1ResponseParser.Limits = .init(), gives events: [ParsedEvent], leftOver: String = "",
    error: HTTP1ParseError? = nil
  ) {
    self.init(
      description, methods: methods, bytes: Array(text.utf8), closes: closes, limits: limits, gives: events,
      leftOver: leftOver, error: error)
  }

  init(
    _ description: String, methods: [String] = ["GET"], bytes: [UInt8], closes: Bool = false,
    limits: HTTP1ResponseParser.Limits = .init(), gives events: [ParsedEvent], leftOver: String = "",
    error: HTTP1ParseError? = nil
  ) {
    testDescription = description
    self.methods = methods
    self.bytes = bytes
    self.closes = closes
    self.limits = limits
    result = Parsed(events: events, leftOver: error == nil ? leftOver : nil, error: error)
  }
}

/// An event, neighbouring pieces of a body joined.
enum ParsedEvent: Sendable, Equatable {
  case head(HTTPResponseHead)
  case body(String)
  case end
  case trailers(HTTPFields)

  static func head(_ status: Int, _ reason: String = "", _ fields: HTTPFields = [:]) -> ParsedEvent {
    .head(HTTPResponseHead(status: status, reason: reason, fields: fields))
  }
}

struct Parsed: Sendable, Equatable {
  var events: [ParsedEvent] = []
  /// Bytes that the parser left; nil after an error, when they do not matter.
  var leftOver: String?
  var error: HTTP1ParseError?
}

extension ScriptedResponse {
  /// What the parser makes of the bytes when they arrive in these pieces.
  func parsed(in pieces: [ArraySlice<UInt8>]) -> Parsed {
    var parser = HTTP1ResponseParser(limits: limits)
    var expected = methods[...]
    var input = ByteBuffer()
    var parsed = Parsed()

    func add(_ event: HTTP1ResponseParser.Event) {
      switch event {
      case .head(let head): parsed.events.append(.head(head))
      case .body(let chunk):
        #expect(chunk.readableBytes > 0)
        let text = String(buffer: chunk)
        if case .body(let before)? = parsed.events.last {
          parsed.events[parsed.events.count - 1] = .body(before + text)
        } else {
          parsed.events.append(.body(text))
        }
      case .end(let trailers): parsed.events.append(trailers.map { .trailers($0) } ?? .end)
      }
    }
    func drain() throws(HTTP1ParseError) {
      repeat {
        if parser.isBetweenMessages, let method = expected.popFirst() { parser.expect(method: method) }
        while let event = try parser.parse(&input) { add(event) }
      } while parser.isBetweenMessages && !expected.isEmpty
    }

    do {
      try drain()
      for piece in pieces {
        input.writeBytes(piece)
        try drain()
      }
      if closes, let event = try parser.endOfInput() { add(event) }
      parsed.leftOver = String(buffer: input)
    } catch {
      parsed.error = error
      #expect(throws: error) { try parser.parse(&input) }
      #expect(throws: error) { try parser.endOfInput() }
      #expect(!parser.isBetweenMessages)
      #expect(!error.sentence.isEmpty)
    }
    return parsed
  }

  /// At once, byte by byte, and cut in two at every place.
  func expectSameHoweverCut() {
    #expect(parsed(in: [bytes[...]]) == result, "at once")
    #expect(parsed(in: bytes.indices.map { bytes[$0...$0] }) == result, "byte by byte")
    for cut in bytes.indices.dropFirst() {
      let halves = parsed(in: [bytes[..<cut], bytes[cut...]])
      if halves != result {
        #expect(halves == result, "cut before byte \(cut)")
        return
      }
    }
  }
}

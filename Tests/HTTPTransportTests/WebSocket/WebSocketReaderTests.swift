import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct WebSocketReaderTests {
  typealias Event = WebSocketReader.Event

  /// All events of `bytes`, which arrive `step` at a time.
  private static func read(
    _ bytes: [UInt8], step: Int, limit: Int = 1 << 20, compression: MessageCompression? = nil
  ) throws(WebSocketViolation) -> [Event] {
    var reader = try WebSocketReader(maximumMessageSize: limit, compression: compression)
    var events: [Event] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.append(ByteBuffer(bytes: rest.prefix(step)))
      rest = rest.dropFirst(step)
      while let event = try reader.next() { events.append(event) }
    }
    return events
  }

  private static func text(_ text: String) -> Event { .message(isText: true, ByteBuffer(string: text)) }
  private static func data(_ bytes: [UInt8]) -> Event { .message(isText: false, ByteBuffer(bytes: bytes)) }

  private static let long = [UInt8](repeating: 7, count: 70_000)

  static let good: [(String, [UInt8], [Event])] = [
    ("a text", [0x81, 0x05] + Array("Hello".utf8), [text("Hello")]),
    ("nothing", [0x81, 0x00, 0x82, 0x00], [text(""), data([])]),
    ("a fragmented text", [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], [text("Hello")]),
    (
      "control frames between fragments",
      [0x02, 1, 1, 0x89, 1, 9, 0x00, 1, 2, 0x8A, 0, 0x80, 1, 3],
      [.ping(ByteBuffer(bytes: [9])), .pong(ByteBuffer()), data([1, 2, 3])]
    ),
    ("a character across fragments", [0x01, 0x01, 0xC3, 0x00, 0x00, 0x80, 0x01, 0xA9], [text("é")]),
    ("a length of 16 bits", [0x82, 126, 0, 126] + long.prefix(126), [data(Array(long.prefix(126)))]),
    ("a length of 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70] + long, [data(long)]),
    (
      "an end, and what comes after it",
      [0x88, 0x05, 0x03, 0xE8, 0x62, 0x79, 0x65, 0xFF, 0xFF, 0xFF],
      [.close(WebSocketCloseStatus(code: 1000, reason: Array("bye".utf8)))]
    ),
    ("an empty end", [0x88, 0], [.close(.none)]),
  ]

  @Test(arguments: good) func reads(_ what: String, _ bytes: [UInt8], _ events: [Event]) throws {
    for step in [1, 2, 3, 1000, bytes.count] {
      #expect(try Self.read(bytes, step: step) == events, "\(what), \(step) bytes at a time")
    }
  }

  static let bad: [(String, [UInt8], WebSocketViolation)] = [
    ("masked", [0x81, 0x85, 1, 2, 3, 4], .maskedFrame), ("RSV1", [0xC1, 0], .reservedBits),
    ("RSV2", [0xA1, 0], .reservedBits), ("RSV3", [0x91, 0], .reservedBits), ("opcode 3", [0x83, 0], .unknownOpcode(3)),
    ("opcode 7", [0x87, 0], .unknownOpcode(7)), ("opcode 11", [0x8B, 0], .unknownOpcode(11)),
    ("opcode 15", [0x8F, 0], .unknownOpcode(15)), ("a fragmented ping", [0x09, 0], .fragmentedControlFrame),
    ("a long ping", [0x89, 126, 0, 126], .controlFrameTooLong),
    ("16 bits for 125", [0x82, 126, 0, 125], .lengthNotMinimal),
    ("64 bits for 65535", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .lengthNotMinimal),
    ("the highest bit", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOutOfRange),
    ("continuation of nothing", [0x80, 0], .continuationOfNothing),
    ("continuation behind the end", [0x82, 0, 0x00, 0], .continuationOfNothing),
    ("a message inside a message", [0x01, 0, 0x81, 0], .messageInsideMessage),
    ("no UTF-8", [0x81, 10, 0x61, 0xFF], .invalidUTF8), ("half a character", [0x81, 1, 0xC3], .invalidUTF8),
    ("no UTF-8 across fragments", [0x01, 1, 0xC3, 0x80, 1, 0x41], .invalidUTF8),
    ("half a close code", [0x88, 1, 3], .closePayloadTooShort),
    ("a close code that means nothing", [0x88, 2, 0x03, 0xED], .invalidCloseCode(1005)),
    ("a close reason that is no UTF-8", [0x88, 3, 0x03, 0xE8, 0x80], .invalidUTF8),
    ("a frame beyond the limit", [0x82, 126, 0x03, 0xE9], .messageTooBig(limit: 1000)),
    (
      "fragments beyond the limit", [0x02, 125] + long.prefix(125) + [0x80, 126, 0x03, 0x6C],
      .messageTooBig(limit: 1000)
    ),
    ("a huge length", [0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255], .messageTooBig(limit: 1000)),
  ]

  /// Nothing of what a server may do wrong is waited for to be complete.
  @Test(arguments: bad) func refuses(_ what: String, _ bytes: [UInt8], _ violation: WebSocketViolation) {
    for step in [1, bytes.count] {
      #expect(throws: violation, "\(what), \(step) bytes at a time") {
        _ = try Self.read(bytes, step: step, limit: 1000)
      }
    }
  }

  @Test func aMessageOfExactlyTheLimitPasses() throws {
    #expect(try Self.read([0x82, 126, 0x03, 0xE8] + Self.long.prefix(1000), step: 100, limit: 1000).count == 1)
  }

  @Test func nothingComesAfterAnError() throws {
    var reader = try WebSocketReader(maximumMessageSize: 10, compression: nil)
    reader.append(ByteBuffer(bytes: [0x83, 0, 0x81, 0]))
    #expect(throws: WebSocketViolation.self) { _ = try reader.next() }
    let after = try reader.next()
    #expect(after == nil)
  }

  // MARK: Compression

  /// RFC 7692 §7.2.3.
  static let compressed: [(String, [UInt8], [Event])] = [
    ("one block", [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [text("Hello")]),
    (
      "fragments", [0x41, 0x03, 0xF2, 0x48, 0xCD, 0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00], [text("Hello")]
    ),
    (
      "what was said before",
      [0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00],
      [text("Hello"), text("Hello")]
    ),
    (
      "a block without compression", [0xC1, 0x0B, 0, 5, 0, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0], [text("Hello")]
    ),
    (
      "a block that says it is the last", [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
      [text("Hello")]
    ),
    (
      "two blocks", [0xC1, 0x0D, 0xF2, 0x48, 0x05, 0, 0, 0, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], [text("Hello")]
    ),
    (
      "what was said before a block that says it is the last",
      [0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00, 0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00],
      [text("Hello"), text("Hello")]
    ),
    ("an uncompressed message between", [0x81, 0x02, 0x68, 0x69], [text("hi")]),
    ("nothing", [0xC1, 0x01, 0x00], [text("")]),
  ]

  @Test(arguments: compressed) func decompresses(_ what: String, _ bytes: [UInt8], _ events: [Event]) throws {
    for step in [1, 4, bytes.count] {
      #expect(try Self.read(bytes, step: step, compression: MessageCompression()) == events, "\(what), \(step)")
    }
  }

  @Test(
    arguments: [
      ("RSV1 on a continuation", [0x41, 0, 0xC0, 0], .reservedBits), ("RSV1 on a ping", [0xC9, 0], .reservedBits),
      ("no deflate data", [0xC2, 4, 0xFF, 0xFF, 0xFF, 0xFF], .invalidCompression),
      ("no UTF-8 inside", [0xC1, 8, 0, 2, 0, 0xFD, 0xFF, 0xFF, 0xFF, 0], .invalidUTF8),
    ] as [(String, [UInt8], WebSocketViolation)])
  func refusesCompressed(_ what: String, _ bytes: [UInt8], _ violation: WebSocketViolation) {
    #expect(throws: violation, "\(what)") { _ = try Self.read(bytes, step: 1, compression: MessageCompression()) }
  }

  /// Empty blocks, each of which says that it is the last: two bytes on the wire, and a turn of work here.
  @Test func lastBlocksAreCounted() throws {
    func message(_ count: Int) -> [UInt8] {
      let payload = (0..<2 * count).map { UInt8($0 % 2 == 0 ? 0x03 : 0x00) } + [0x00]
      return [0xC2, UInt8(payload.count)] + payload
    }
    for step in [1, 1000] {
      #expect(try Self.read(message(16) + message(16), step: step, compression: MessageCompression()).count == 2)
      #expect(throws: WebSocketViolation.invalidCompression) {
        _ = try Self.read(message(17), step: step, compression: MessageCompression())
      }
    }
  }

  @Test(
    arguments: [(.min, 0), (-1, 0), (0, 0), (1, 1), (1 << 30, 1 << 30), ((1 << 30) + 1, 1 << 30), (.max, 1 << 30)]
      as [(Int, Int)])
  func theLimitHasALimit(wish: Int, limit: Int) throws {
    #expect(WebSocketReader.limit(for: wish) == limit)
    var reader = try WebSocketReader(maximumMessageSize: wish, compression: nil)
    #expect(reader.maximumMessageSize == limit)
    reader.maximumMessageSize = wish
    #expect(reader.maximumMessageSize == limit)
  }

  /// A few hundred bytes that would become a megabyte are stopped at the limit.
  @Test func aBombIsDefused() throws {
    var out = ByteBuffer()
    let writer = WebSocketWriter(compression: MessageCompression())
    var message = writer.message(isText: false, ByteBuffer(repeating: 0, count: 1 << 20))
    let isWhole = message.next(into: &out)
    #expect(isWhole)
    let bytes = ClientFrames.unmasked(&out)
    #expect(bytes.count < 4096)
    #expect(throws: WebSocketViolation.messageTooBig(limit: 65_536)) {
      _ = try Self.read(bytes, step: 100, limit: 65_536, compression: MessageCompression())
    }
    #expect(try Self.read(bytes, step: 100, limit: 1 << 20, compression: MessageCompression()).count == 1)
    #expect(try Self.read(bytes, step: 100, limit: .max, compression: MessageCompression()).count == 1)
  }
}

import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

/// What the parser tells about itself, and what it costs.
@Suite struct HTTP1ResponseParserTests {
  /// Parses everything there is.
  func drain(_ parser: inout HTTP1ResponseParser, _ input: inout ByteBuffer) throws -> [HTTP1ResponseParser.Event] {
    var events: [HTTP1ResponseParser.Event] = []
    while let event = try parser.parse(&input) { events.append(event) }
    return events
  }

  @Test func headersAndBodyAreCounted() throws {
    let interim = "HTTP/1.1 103\r\nLink: a\r\n\r\n"
    let final = "\r\nHTTP/1.1 200\r\nContent-Length: 5\r\n\r\n"
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer(string: interim + final + "hel")
    parser.expect(method: "GET")
    _ = try drain(&parser, &input)
    #expect(parser.headerBytes == interim.utf8.count + final.utf8.count)
    #expect(parser.bodyBytes == 3)
    #expect(parser.framing == .length(5))
    #expect(!parser.isBetweenMessages)
    input.writeString("lo")
    #expect(try drain(&parser, &input) == [.body(ByteBuffer(string: "lo")), .end(trailers: nil)])
    #expect(parser.bodyBytes == 5)
    #expect(parser.isBetweenMessages)

    parser.expect(method: "GET")
    #expect(parser.headerBytes == 0)
    #expect(parser.bodyBytes == 0)
    #expect(parser.framing == nil)
  }

  @Test(arguments: [
    ("GET", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", true), ("GET", "HTTP/1.1 204\r\n\r\n", true),
    ("GET", "HTTP/1.1 204\r\nConnection: close\r\n\r\n", false), ("GET", "HTTP/1.1 200\r\n\r\n", false),
    ("GET", "HTTP/1.0 204\r\n\r\n", false), ("GET", "HTTP/1.0 204\r\nConnection: keep-alive\r\n\r\n", true),
    ("GET", "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n", true),
    ("GET", "HTTP/1.0 200\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HEAD", "HTTP/1.1 200\r\n\r\n", true), ("GET", "HTTP/1.1 101\r\n\r\n", false),
    ("CONNECT", "HTTP/1.1 200\r\n\r\n", false), ("CONNECT", "HTTP/1.1 407\r\nContent-Length: 0\r\n\r\n", true),
    ("GET", "HTTP/1.1 100\r\n\r\n", false),
    // A body behind a 204 would be read as the next response.
    ("GET", "HTTP/1.1 204\r\nContent-Length: 0\r\n\r\n", true),
    ("GET", "HTTP/1.1 204\r\nContent-Length: 5\r\n\r\n", false),
    ("GET", "HTTP/1.1 204\r\nContent-Length: x\r\n\r\n", false),
    ("GET", "HTTP/1.1 204\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("GET", "HTTP/1.1 304\r\nContent-Length: 5\r\n\r\n", true),
    ("HEAD", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", true),
  ])
  func persistence(method: String, head: String, keepsAlive: Bool) throws {
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer(string: head)
    parser.expect(method: method)
    _ = try drain(&parser, &input)
    #expect(parser.keepsAlive == keepsAlive)
  }

  @Test func theEndNeedsNoMoreInput() throws {
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer(string: "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx")
    parser.expect(method: "GET")
    _ = try parser.parse(&input)
    _ = try parser.parse(&input)
    #expect(input.readableBytes == 0)
    #expect(!parser.isBetweenMessages)
    #expect(try parser.parse(&input) == .end(trailers: nil))
    #expect(parser.isBetweenMessages)
    #expect(try parser.parse(&input) == nil)
  }

  @Test func theEndOfInputBringsTheEndThatWasDue() throws {
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer(string: "HTTP/1.1 204\r\n\r\n")
    parser.expect(method: "GET")
    _ = try parser.parse(&input)
    #expect(try parser.endOfInput() == .end(trailers: nil))
    #expect(try parser.endOfInput() == nil)
  }

  @Test func anErrorIsFinal() throws {
    var parser = HTTP1ResponseParser()
    var bad = ByteBuffer(string: "nonsense\r\n")
    parser.expect(method: "GET")
    #expect(throws: HTTP1ParseError.invalidStatusLine) { try parser.parse(&bad) }
    parser.expect(method: "GET")
    var good = ByteBuffer(string: "HTTP/1.1 204\r\n\r\n")
    #expect(throws: HTTP1ParseError.invalidStatusLine) { try parser.parse(&good) }
  }

  @Test func bodiesAreNotCopied() throws {
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer(string: "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")
    let address = input.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
    let offset = input.readableBytes - 5
    parser.expect(method: "GET")
    let events = try drain(&parser, &input)
    guard events.count == 3, case .body(let chunk) = events[1] else {
      Issue.record("\(events)")
      return
    }
    #expect(chunk.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } == address + UInt(offset))
  }

  /// The longest heads that are taken, one byte at a time: were bytes looked at again and again, this would take
  /// minutes rather than moments.
  @Test(.timeLimit(.minutes(1)), arguments: ["\r\n", "x"])
  func longHeadsAreReadOnce(filler: String) throws {
    var parser = HTTP1ResponseParser()
    var input = ByteBuffer()
    parser.expect(method: "GET")
    let lines =
      filler == "x"
      ? "A: " + String(repeating: "x", count: 200_000) + "\r\n"
      : (0..<990).map { "Field-\($0): " + String(repeating: "v", count: 180) + "\r\n" }.joined()
    let head = "HTTP/1.1 204\r\n" + lines + "\r\n"
    var events: [HTTP1ResponseParser.Event] = []
    for byte in head.utf8 {
      input.writeInteger(byte)
      events += try drain(&parser, &input)
    }
    #expect(events.count == 2)
    #expect(parser.headerBytes == head.utf8.count)
  }

  /// Whatever arrives, the parser returns or throws.
  @Test func noiseNeverTraps() {
    var seed: UInt64 = 0x9E37_79B9_7F4A_7C15
    func random(below limit: Int) -> Int {
      seed ^= seed << 13
      seed ^= seed >> 7
      seed ^= seed << 17
      return Int(seed % UInt64(limit))
    }
    let pieces =
      [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.0 ", "204", "\r\n", "\n", "\r", "Content-Length: ", "5", "99999999999999999999",
        "Transfer-Encoding: chunked\r\n", ": ", " ", "\t", "0\r\n\r\n", "5\r\nhello\r\n", "ffffffffffffffff\r\n",
        "\u{0}",
        "é", ";", "A: b\r\n", "Connection: close\r\n", "100", "HEAD",
      ].map { Array($0.utf8) } + [[0xFF], [0x80, 0xC3]]
    for _ in 0..<20_000 {
      var parser = HTTP1ResponseParser()
      var input = ByteBuffer()
      parser.expect(method: ["GET", "HEAD", "CONNECT"][random(below: 3)])
      if random(below: 2) == 0 { input.writeString("HTTP/1.1 200 OK\r\n") }
      do {
        for _ in 0..<random(below: 12) {
          input.writeBytes(pieces[random(below: pieces.count)])
          while let event = try parser.parse(&input) {
            if case .body(let chunk) = event { #expect(chunk.readableBytes > 0) }
          }
        }
        _ = try parser.endOfInput()
        #expect(parser.isBetweenMessages)
      } catch {
        #expect(!parser.isBetweenMessages)
      }
    }
  }
}

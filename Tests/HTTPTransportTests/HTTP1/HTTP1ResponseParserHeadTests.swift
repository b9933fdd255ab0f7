import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

/// RFC 9112 §2–§5: status lines and fields.
@Suite struct HTTP1ResponseParserHeadTests {
  static func small(head: Int = 64, fields: Int = 3) -> HTTP1ResponseParser.Limits {
    var limits = HTTP1ResponseParser.Limits()
    limits.headBytes = head
    limits.fields = fields
    return limits
  }

  static func interim(_ count: Int) -> HTTP1ResponseParser.Limits {
    var limits = HTTP1ResponseParser.Limits()
    limits.interimResponses = count
    return limits
  }

  static let statusLines: [ScriptedResponse] = [
    .init("plain", "HTTP/1.1 204 No Content\r\n\r\n", gives: [.head(204, "No Content"), .end]),
    .init("empty reason", "HTTP/1.1 204 \r\n\r\n", gives: [.head(204), .end]),
    .init("no reason, no space", "HTTP/1.1 204\r\n\r\n", gives: [.head(204), .end]),
    .init("bare line feeds", "HTTP/1.1 204 OK\nA: b\n\n", gives: [.head(204, "OK", ["A": "b"]), .end]),
    .init("a tab in the reason", "HTTP/1.1 204 a\tb\r\n\r\n", gives: [.head(204, "a\tb"), .end]),
    .init("a reason in UTF-8", "HTTP/1.1 204 Größe\r\n\r\n", gives: [.head(204, "Größe"), .end]),
    .init("one empty line before", "\r\nHTTP/1.1 204\r\n\r\n", gives: [.head(204), .end]),
    .init("two empty lines before", "\n\r\nHTTP/1.1 204\r\n\r\n", gives: [.head(204), .end]),
    .init("three empty lines before", "\r\n\r\n\r\nHTTP/1.1 204\r\n\r\n", gives: [], error: .invalidStatusLine),
    .init(
      "status 999", "HTTP/1.1 999\r\nContent-Length: 0\r\n\r\n", gives: [.head(999, "", ["Content-Length": "0"]), .end]),
    .init(
      "HTTP/1.0", "HTTP/1.0 204\r\n\r\n", gives: [.head(HTTPResponseHead(version: .http10, status: 204)), .end]),
    .init(
      "HTTP/1.9", "HTTP/1.9 204\r\n\r\n",
      gives: [.head(HTTPResponseHead(version: HTTPVersion(major: 1, minor: 9), status: 204)), .end]),
    .init("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", gives: [], error: .unsupportedVersion),
    .init("HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n", gives: [], error: .unsupportedVersion),
  ]

  static let badStatusLines = [
    "http/1.1 200 OK\r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 099 OK\r\n",
    "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1200 OK\r\n", "HTTP/1 200 OK\r\n", "HTTP/11 200 OK\r\n", "HTTP/1.10 200 OK\r\n",
    "HTTP/1.1\t200 OK\r\n", "HTTP/1.1 200\tOK\r\n", "HTTP/1.1 200 O\u{0}K\r\n", "HTTP/1.1 200 O\rK\r\n",
    "HTTP/1.1 200 OK\r\r\n", "HTTP/1.1 200 \u{7F}\r\n", " HTTP/1.1 200 OK\r\n", "HTTP/1.1\r\n", "HTTP/x.1 200 OK\r\n",
    "ICY 200 OK\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\r\r\nHTTP/1.1 200 OK\r\n", "GET / HTTP/1.1\r\n", "<html>",
    "\u{15}\u{3}\u{3}",
    "HTTP/-.1 200 OK\r\n", "HTTP/1.1 +20 OK\r\n", "HTTPS/1.1 200\r\n",
  ].map { ScriptedResponse($0.debugDescription, $0, gives: [], error: .invalidStatusLine) }

  static let fieldLines: [ScriptedResponse] = [
    .init(
      "names keep their spelling, values lose their padding",
      "HTTP/1.1 204\r\nx-ONE:1\r\nTwo: \t two words \t \r\nEmpty:\r\nBlank:  \r\nSame: a\r\nsame: b\r\n\r\n",
      gives: [
        .head(204, "", ["x-ONE": "1", "Two": "two words", "Empty": "", "Blank": "", "Same": "a", "same": "b"]), .end,
      ]),
    .init("colons in values", "HTTP/1.1 204\r\nA: b:c: d\r\n\r\n", gives: [.head(204, "", ["A": "b:c: d"]), .end]),
    .init("a tab in a value", "HTTP/1.1 204\r\nA: b\tc\r\n\r\n", gives: [.head(204, "", ["A": "b\tc"]), .end]),
    .init(
      "every token character", "HTTP/1.1 204\r\n!#$%&'*+-.^_`|~9Az: x\r\n\r\n",
      gives: [.head(204, "", ["!#$%&'*+-.^_`|~9Az": "x"]), .end]),
    .init("UTF-8", "HTTP/1.1 204\r\nA: Grüße 日本\r\n\r\n", gives: [.head(204, "", ["A": "Grüße 日本"]), .end]),
    .init(
      "ISO-8859-1", bytes: Array("HTTP/1.1 204\r\nA: Gr".utf8) + [0xFC, 0xDF] + Array("e long enough\r\n\r\n".utf8),
      gives: [.head(204, "", ["A": "Grüße long enough"]), .end]),
    .init(
      "truncated UTF-8 is ISO-8859-1", bytes: Array("HTTP/1.1 204\r\nA: x".utf8) + [0xC3] + Array("\r\n\r\n".utf8),
      gives: [.head(204, "", ["A": "xÃ"]), .end]),
    // RFC 9112 §5.2
    .init(
      "folded lines", "HTTP/1.1 204\r\nA: one\r\n  two\r\n\tthree \r\nB: x\r\n\r\n",
      gives: [.head(204, "", ["A": "one two three", "B": "x"]), .end]),
    .init(
      "folded after nothing", "HTTP/1.1 204\r\nA:\r\n one\r\n \r\n two\r\n\r\n",
      gives: [.head(204, "", ["A": "one two"]), .end]),
    .init(
      "a folded field counts once", "HTTP/1.1 204\r\nA: 1\r\n 2\r\n 3\r\n 4\r\n 5\r\n\r\n", limits: small(fields: 1),
      gives: [.head(204, "", ["A": "1 2 3 4 5"]), .end]),
    .init("folded status line", "HTTP/1.1 204\r\n A: b\r\n\r\n", gives: [], error: .invalidFieldName),
    // RFC 6265bis §5.6 step 1
    .init(
      "a control in a cookie", "HTTP/1.1 204\r\nA: b\r\nset-Cookie: a=\u{1}\r\n c\r\nSet-Cookie: d=e\r\n\r\n",
      gives: [.head(204, "", ["A": "b", "Set-Cookie": "d=e"]), .end]),
    .init(
      "nothing but a control in a cookie", "HTTP/1.1 204\r\nSet-Cookie: \u{7F}\r\n c\r\n\r\n",
      gives: [.head(204, "", [:]), .end]),
    .init("NUL in a cookie", "HTTP/1.1 204\r\nSet-Cookie: a=\u{0}\r\n\r\n", gives: [], error: .invalidFieldValue),
    .init("CR in a cookie", "HTTP/1.1 204\r\nSet-Cookie: a=\rb\r\n\r\n", gives: [], error: .invalidFieldValue),
    .init("folded control", "HTTP/1.1 204\r\nA: b\r\n c\u{1}\r\n\r\n", gives: [], error: .invalidFieldValue),
  ]

  static let badNames = [
    "A : b", ": b", "A", "A\tB: c", "A B: c", "Ä: b", "A\u{0}: b", "A(: b", "A/B: c", "\u{7F}: b", "\u{B}A: b",
  ].map {
    ScriptedResponse($0.debugDescription, "HTTP/1.1 200\r\n\($0)\r\n\r\n", gives: [], error: .invalidFieldName)
  }

  static let badValues = [
    "\u{0}", "a\u{0}", "a\rb", "a\r", "\u{1}", "\u{8}", "\u{B}", "\u{1F}", "\u{7F}", "a long value then \u{1B}[31m",
    "12345678\u{7F}", "1234567\u{1F}12345678", "éééééééé\u{2}", "\u{1F}\u{20}",
  ].map {
    ScriptedResponse($0.debugDescription, "HTTP/1.1 200\r\nA: \($0)\r\n\r\n", gives: [], error: .invalidFieldValue)
  }

  static let interimResponses: [ScriptedResponse] = [
    .init(
      "100 and 103, then the response",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
      gives: [
        .head(100, "Continue"), .head(103, "", ["Link": "a"]), .head(200, "OK", ["Content-Length": "1"]), .body("x"),
        .end,
      ]),
    .init(
      "an interim response has no body, whatever it says",
      "HTTP/1.1 102\r\nContent-Length: 5\r\n\r\nHTTP/1.1 204\r\n\r\n",
      gives: [.head(102, "", ["Content-Length": "5"]), .head(204), .end]),
    .init(
      "101 is the last", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n\u{81}\u{5}",
      gives: [.head(101, "Switching", ["Upgrade": "x"]), .end], leftOver: "\u{81}\u{5}"),
    .init(
      "interim responses without end", String(repeating: "HTTP/1.1 100\r\n\r\n", count: 5), limits: small(),
      gives: Array(repeating: .head(100), count: 4), error: .headTooLarge),
    .init(
      "as many interim responses as allowed",
      String(repeating: "HTTP/1.1 100\r\n\r\n", count: 2) + "HTTP/1.1 204\r\n\r\n",
      limits: interim(2), gives: [.head(100), .head(100), .head(204), .end]),
    .init(
      "one interim response more", String(repeating: "HTTP/1.1 100\r\n\r\n", count: 3), limits: interim(2),
      gives: [.head(100), .head(100)], error: .tooManyInterimResponses),
    .init("closed after 100", "HTTP/1.1 100\r\n\r\n", closes: true, gives: [.head(100)], error: .truncated(.head)),
  ]

  static let sizes: [ScriptedResponse] = [
    .init(
      "as long as allowed", "HTTP/1.1 204\r\nA: " + String(repeating: "x", count: 64 - 21) + "\r\n\r\n",
      limits: small(),
      gives: [.head(204, "", ["A": String(repeating: "x", count: 64 - 21)]), .end]),
    .init(
      "a byte longer", "HTTP/1.1 204\r\nA: " + String(repeating: "x", count: 65 - 21) + "\r\n\r\n", limits: small(),
      gives: [], error: .headTooLarge),
    .init(
      "a line without end", "HTTP/1.1 204\r\nA: " + String(repeating: "x", count: 100), limits: small(), gives: [],
      error: .headTooLarge),
    .init(
      "a status line without end", "HTTP/1.1 204 " + String(repeating: "x", count: 100), limits: small(), gives: [],
      error: .headTooLarge),
    .init(
      "as many fields as allowed", "HTTP/1.1 204\r\nA:1\r\nB:2\r\nC:3\r\n\r\n", limits: small(),
      gives: [.head(204, "", ["A": "1", "B": "2", "C": "3"]), .end]),
    .init(
      "a field more", "HTTP/1.1 204\r\nA:1\r\nB:2\r\nC:3\r\nD:4\r\n\r\n", limits: small(), gives: [],
      error: .tooManyFields),
  ]

  static let closings: [ScriptedResponse] = [
    .init("before a byte", "", closes: true, gives: [], error: .closedBeforeHead),
    .init("inside the status line", "HT", closes: true, gives: [], error: .truncated(.head)),
    .init("after the status line", "HTTP/1.1 200 OK\r\n", closes: true, gives: [], error: .truncated(.head)),
    .init("inside a field", "HTTP/1.1 200 OK\r\nA", closes: true, gives: [], error: .truncated(.head)),
    .init("before the empty line", "HTTP/1.1 200 OK\r\nA: b\r\n\r", closes: true, gives: [], error: .truncated(.head)),
    .init("after the response", "HTTP/1.1 204\r\n\r\n", closes: true, gives: [.head(204), .end]),
  ]

  @Test(arguments: statusLines + badStatusLines)
  func statusLine(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: fieldLines + badNames + badValues)
  func fields(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: interimResponses)
  func interim(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: sizes)
  func sizeLimits(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: closings)
  func closes(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  /// Values are looked at eight bytes at a time: each byte has to be seen in each place.
  @Test func everyByteInEveryPlace() throws {
    for place in 0..<20 {
      for byte in UInt8.min...UInt8.max where byte != 0x0A {
        var value = [UInt8](repeating: UInt8(ascii: "v"), count: 20)
        value[place] = byte
        var input = ByteBuffer(bytes: Array("HTTP/1.1 204\r\nA: <".utf8) + value + Array(">\r\n\r\n".utf8))
        var parser = HTTP1ResponseParser()
        parser.expect(method: "GET")
        if (byte < 0x20 && byte != 0x09) || byte == 0x7F {
          #expect(throws: HTTP1ParseError.invalidFieldValue, "\(byte) at \(place)") { try parser.parse(&input) }
        } else {
          // Above ASCII none of these is UTF-8: ISO-8859-1 then.
          let text = String(
            String.UnicodeScalarView(([UInt8(ascii: "<")] + value + [UInt8(ascii: ">")]).map { Unicode.Scalar($0) }))
          let head = HTTPResponseHead(status: 204, fields: ["A": text])
          #expect(try parser.parse(&input) == .head(head), "\(byte) at \(place)")
        }
      }
    }
  }
}

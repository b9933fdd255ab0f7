import HTTPSemantics
import HTTPTransport
import Testing

/// RFC 9112 §6 and §7: where bodies end.
@Suite struct HTTP1ResponseParserBodyTests {
  static let chunkedHead = "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"
  static let chunkedEvent = ParsedEvent.head(200, "", ["Transfer-Encoding": "chunked"])

  static let lengths: [ScriptedResponse] = [
    .init(
      "counted", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
      gives: [.head(200, "", ["Content-Length": "5"]), .body("hello"), .end]),
    .init(
      "empty", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", gives: [.head(200, "", ["Content-Length": "0"]), .end]),
    .init(
      "counted twice alike", "HTTP/1.1 200\r\nContent-Length: 1, 1\r\n\r\nx",
      gives: [.head(200, "", ["Content-Length": "1, 1"]), .body("x"), .end]),
    .init(
      "more than counted", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhello",
      gives: [.head(200, "", ["Content-Length": "2"]), .body("he"), .end], leftOver: "llo"),
    .init(
      "less than counted", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhell", closes: true,
      gives: [.head(200, "", ["Content-Length": "5"]), .body("hell")],
      error: .truncated(.body(received: 4, expected: 5))),
    .init(
      "nothing of what was counted", "HTTP/1.1 200\r\nContent-Length: 9223372036854775807\r\n\r\n", closes: true,
      gives: [.head(200, "", ["Content-Length": "9223372036854775807"])],
      error: .truncated(.body(received: 0, expected: .max))),
    .init(
      "until the connection ends", "HTTP/1.1 200\r\n\r\nall of it\r\n", closes: true,
      gives: [.head(200), .body("all of it\r\n"), .end]),
    .init("until the connection ends, at once", "HTTP/1.1 200\r\n\r\n", closes: true, gives: [.head(200), .end]),
    .init("the connection has not ended", "HTTP/1.1 200\r\n\r\nx", gives: [.head(200), .body("x")]),
    .init(
      "HEAD", methods: ["HEAD"], "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nx",
      gives: [.head(200, "", ["Content-Length": "5"]), .end], leftOver: "x"),
    .init(
      "304", "HTTP/1.1 304\r\nTransfer-Encoding: chunked\r\n\r\n",
      gives: [.head(304, "", ["Transfer-Encoding": "chunked"]), .end]),
    .init(
      "a tunnel", methods: ["CONNECT"], "HTTP/1.1 200\r\n\r\n\u{16}\u{3}", gives: [.head(200), .end],
      leftOver: "\u{16}\u{3}"),
    .init(
      "one response after the other", methods: ["GET", "HEAD", "GET"],
      "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200\r\nContent-Length: 9\r\n\r\n\r\nHTTP/1.1 204\r\n\r\nrest",
      gives: [
        .head(200, "", ["Content-Length": "1"]), .body("a"), .end, .head(200, "", ["Content-Length": "9"]), .end,
        .head(204), .end,
      ], leftOver: "rest"),
    .init(
      "nobody asked", methods: [], "HTTP/1.1 408\r\n\r\n", closes: true, gives: [], leftOver: "HTTP/1.1 408\r\n\r\n"),
  ]

  static let framingErrors: [ScriptedResponse] = [
    ("Content-Length: 5\r\nContent-Length: 6", FramingError.conflictingLengths),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", .lengthWithTransferEncoding),
    ("Content-Length: five", .invalidLength), ("Content-Length: 9223372036854775808", .invalidLength),
    ("Transfer-Encoding: gzip, chunked", .unsupportedTransferEncoding),
    ("Transfer-Encoding: chunked, chunked", .invalidTransferEncoding),
  ].map {
    .init($0.0.debugDescription, "HTTP/1.1 200\r\n\($0.0)\r\n\r\nhello", gives: [], error: .framing($0.1))
  }

  static func chunked(
    _ description: String, _ body: String, closes: Bool = false, limits: HTTP1ResponseParser.Limits = .init(),
    gives events: [ParsedEvent], leftOver: String = "", error: HTTP1ParseError? = nil
  ) -> ScriptedResponse {
    .init(
      description, chunkedHead + body, closes: closes, limits: limits, gives: [chunkedEvent] + events,
      leftOver: leftOver, error: error)
  }

  static var small: HTTP1ResponseParser.Limits {
    var limits = HTTP1ResponseParser.Limits()
    limits.chunkHeaderBytes = 16
    limits.trailerBytes = 16
    limits.fields = 2
    return limits
  }

  static let chunks: [ScriptedResponse] = [
    chunked("one", "5\r\nhello\r\n0\r\n\r\n", gives: [.body("hello"), .end]),
    chunked(
      "several", "1\r\na\r\n2\r\nbc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
      gives: [.body("abc0123456789abcdef"), .end]),
    chunked("none", "0\r\n\r\n", gives: [.end]),
    chunked("line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", gives: [.body("\r\n\r\n"), .end]),
    chunked(
      "digits of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
      gives: [.body("01234567890123456789"), .end]),
    chunked("leading and many zeros", "0005\r\nhello\r\n0000\r\n\r\n", gives: [.body("hello"), .end]),
    chunked("extensions", "5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n", gives: [.body("hello"), .end]),
    chunked("padding", "5 \t\r\nhello\r\n0 ;x\r\n\r\n", gives: [.body("hello"), .end]),
    chunked("trailers", "0\r\nA: 1\r\nB:2\r\n x\r\n\r\n", gives: [.trailers(["A": "1", "B": "2 x"])]),
    chunked("trailers ended by bare line feeds", "0\r\nA: 1\n\n", gives: [.trailers(["A": "1"])]),
    chunked("more after the end", "0\r\n\r\nx", gives: [.end], leftOver: "x"),
    .init(
      "HTTP/1.0", "HTTP/1.0 200\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      gives: [
        .head(HTTPResponseHead(version: .http10, status: 200, fields: ["Transfer-Encoding": "chunked"])), .body("x"),
        .end,
      ]),
    chunked(
      "the header as long as allowed", "1;0123456789abc\r\nx\r\n0\r\n\r\n",
      limits: HTTP1ResponseParserBodyTests.withHeader(17), gives: [.body("x"), .end]),
  ]

  static func withHeader(_ bytes: Int) -> HTTP1ResponseParser.Limits {
    var limits = small
    limits.chunkHeaderBytes = bytes
    return limits
  }

  static let badChunks: [ScriptedResponse] = [
    chunked("no size", "\r\nhello", gives: [], error: .invalidChunkSize),
    chunked("an extension without a size", ";a\r\n", gives: [], error: .invalidChunkSize),
    chunked("not hexadecimal", "g\r\n", gives: [], error: .invalidChunkSize),
    chunked("a prefix", "0x5\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("a sign", "+5\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("negative", "-1\r\n", gives: [], error: .invalidChunkSize),
    chunked("a space before", " 5\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("two sizes", "5 5\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("a bare line feed", "5\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("a bare CR in an extension", "5;a\rb\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked("a NUL in an extension", "5;\u{0}\r\nhello\r\n", gives: [], error: .invalidChunkSize),
    chunked(
      "the largest size", "7fffffffffffffff\r\nx", closes: true, gives: [.body("x")],
      error: .truncated(.chunkedBody(received: 1))),
    chunked("63 bits overflow", "8000000000000000\r\nx", gives: [], error: .chunkSizeTooLarge),
    chunked("64 bits overflow", "10000000000000005\r\nhello\r\n", gives: [], error: .chunkSizeTooLarge),
    chunked("longer than its size", "5\r\nhello!\r\n0\r\n\r\n", gives: [.body("hello")], error: .chunkOverrun),
    chunked("no line end after data", "5\r\nhello0\r\n\r\n", gives: [.body("hello")], error: .chunkOverrun),
    chunked("a bare line feed after data", "5\r\nhello\n0\r\n\r\n", gives: [.body("hello")], error: .chunkOverrun),
    chunked("a bare CR after data", "5\r\nhello\r0\r\n\r\n", gives: [.body("hello")], error: .chunkOverrun),
    chunked("too long a header", "1;0123456789abcdefg\r\nx", limits: small, gives: [], error: .chunkHeaderTooLarge),
    chunked(
      "a header without end", "1;" + String(repeating: "x", count: 50), limits: small, gives: [],
      error: .chunkHeaderTooLarge),
    chunked(
      "trailers too long", "0\r\nA: " + String(repeating: "x", count: 50), limits: small, gives: [],
      error: .trailersTooLarge),
    chunked("too many trailers", "0\r\nA:1\r\nB:2\r\nC:3\r\n", limits: small, gives: [], error: .tooManyFields),
    chunked("a bad trailer", "0\r\nA : 1\r\n\r\n", gives: [], error: .invalidFieldName),
    chunked("a control in a trailer", "0\r\nA: \u{0}\r\n\r\n", gives: [], error: .invalidFieldValue),
    chunked("closed before the size", "", closes: true, gives: [], error: .truncated(.chunkedBody(received: 0))),
    chunked(
      "closed inside data", "5\r\nhel", closes: true, gives: [.body("hel")],
      error: .truncated(.chunkedBody(received: 3))),
    chunked(
      "closed after data", "5\r\nhello", closes: true, gives: [.body("hello")],
      error: .truncated(.chunkedBody(received: 5))),
    chunked(
      "closed before the last chunk", "5\r\nhello\r\n", closes: true, gives: [.body("hello")],
      error: .truncated(.chunkedBody(received: 5))),
    chunked(
      "closed before the empty line", "5\r\nhello\r\n0\r\n", closes: true, gives: [.body("hello")],
      error: .truncated(.chunkedBody(received: 5))),
  ]

  @Test(arguments: lengths)
  func length(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: framingErrors)
  func framing(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: chunks)
  func wellChunked(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: badChunks)
  func badlyChunked(_ response: ScriptedResponse) { response.expectSameHoweverCut() }
}

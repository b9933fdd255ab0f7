import HTTPSemantics
import HTTPTransport
import Testing

/// RFC 9112 §11.1 and §11.2: bytes by which two readers of one connection are made to disagree about where a response
/// ends. Each has one reading, or none.
@Suite struct HTTP1ResponseSmugglingTests {
  private static let body = "5\r\nhello\r\n0\r\n\r\n"
  private static let chunked = ParsedEvent.head(200, "", ["Transfer-Encoding": "chunked"])

  /// A response with these lines in its head, which no reading is given to.
  private static func refused(_ lines: String, _ error: HTTP1ParseError) -> ScriptedResponse {
    ScriptedResponse(lines.debugDescription, "HTTP/1.1 200\r\n\(lines)\r\n\r\n\(body)", gives: [], error: error)
  }

  static let transferEncodings: [ScriptedResponse] = [
    refused("Transfer-Encoding: xchunked", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: chunkedx", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: \"chunked\"", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: chunked;a=b", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: chunked, identity", .framing(.invalidTransferEncoding)),
    refused("Transfer-Encoding: ,chunked", .framing(.invalidTransferEncoding)),
    refused("Transfer-Encoding:", .framing(.invalidTransferEncoding)),
    refused("Transfer-Encoding: chunk\r\n ed", .framing(.unsupportedTransferEncoding)),
    refused("Transfer-Encoding: chunked\u{0B}", .invalidFieldValue),
    refused("Transfer-Encoding: chunked\u{0}", .invalidFieldValue),
    refused("Transfer-Encoding: chunked\r", .invalidFieldValue),
    refused("Transfer-Encoding : chunked", .invalidFieldName),
    refused("Transfer-Encoding\t: chunked", .invalidFieldName),
    refused("Transfer-Encoding\r\n: chunked", .invalidFieldName),
    refused(" Transfer-Encoding: chunked", .invalidFieldName),
    refused("\u{FEFF}Transfer-Encoding: chunked", .invalidFieldName),
    refused("A: b\rTransfer-Encoding: chunked", .invalidFieldValue),
    refused("Content-Length: 5\r\nTransfer-Encoding: chunked", .framing(.lengthWithTransferEncoding)),
    refused("Transfer-Encoding: identity, chunked\r\nContent-Length: 5", .framing(.lengthWithTransferEncoding)),
    .init(
      "a tab before the coding", "HTTP/1.1 200\r\nTransfer-Encoding:\tchunked\r\n\r\n" + body,
      gives: [chunked, .body("hello"), .end]),
    .init(
      "the coding on a folded line", "HTTP/1.1 200\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + body,
      gives: [chunked, .body("hello"), .end]),
    // RFC 9112 §2.2 lets a bare LF end a line; then it does so for every field.
    .init(
      "the field after a bare line feed", "HTTP/1.1 200\r\nA: b\nTransfer-Encoding: chunked\r\n\r\n" + body,
      gives: [.head(200, "", ["A": "b", "Transfer-Encoding": "chunked"]), .body("hello"), .end]),
    .init(
      "a name that only looks alike", "HTTP/1.1 200\r\nTransfer_Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
      gives: [.head(200, "", ["Transfer_Encoding": "chunked", "Content-Length": "2"]), .body("ok"), .end]),
  ]

  static let lengths: [ScriptedResponse] =
    [
      "+5", "-5", "-0", "0x5", "5e0", "5.0", "5,", ",5", "5 5", "5;", "\u{FF15}", "05x", "5\r\n 6",
      "18446744073709551621",
    ].map { refused("Content-Length: \($0)", .framing(.invalidLength)) } + [
      refused("Content-Length: 5, 6", .framing(.conflictingLengths)),
      refused("Content-Length: 5\r\nX: y\r\ncontent-length: 05, 6", .framing(.conflictingLengths)),
      refused("Content-Length : 5", .invalidFieldName), refused("Content-Length: 5\u{0}", .invalidFieldValue),
      .init(
        "a length with zeros before it", "HTTP/1.1 200\r\nContent-Length: 0002\r\n\r\nok",
        gives: [.head(200, "", ["Content-Length": "0002"]), .body("ok"), .end]),
      .init(
        "one length, written in two ways", "HTTP/1.1 200\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nok",
        gives: [.head(200, "", ["Content-Length": "2", "Content-Length": "02"]), .body("ok"), .end]),
    ]

  static let headEnds: [ScriptedResponse] = [
    .init(
      "an empty line of LF alone", "HTTP/1.1 200\r\nContent-Length: 2\r\n\nok",
      gives: [.head(200, "", ["Content-Length": "2"]), .body("ok"), .end]),
    .init("a line of CR alone is none", "HTTP/1.1 200\r\nA: b\r\n\r\r\nx", gives: [], error: .invalidFieldName),
    .init(
      "a line of a space is a folded one", "HTTP/1.1 200\r\nContent-Length: 2\r\n \r\n\r\nok",
      gives: [.head(200, "", ["Content-Length": "2"]), .body("ok"), .end]),
    .init("a NUL before the status line", "\u{0}HTTP/1.1 204\r\n\r\n", gives: [], error: .invalidStatusLine),
  ]

  static let chunks: [ScriptedResponse] = [
    ("a line feed in an extension", "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"),
    ("a line feed instead of the extension", "5;\nhello\r\n0\r\n\r\n"), ("CR CR LF", "5\r\r\nhello\r\n0\r\n\r\n"),
    ("a vertical tab after the size", "5\u{0B}\r\nhello\r\n0\r\n\r\n"), ("a comma", "5,5\r\nhello\r\n0\r\n\r\n"),
    ("an underscore", "1_0\r\n"), ("a size of full-width digits", "\u{FF15}\r\nhello"), ("a quote", "\"5\"\r\nhello"),
  ].map { description, text in
    ScriptedResponse(
      description, "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n" + text, gives: [chunked],
      error: .invalidChunkSize)
  }

  static let whatFollows: [ScriptedResponse] = [
    // RFC 9110 §6.5.1: what trailers say of the framing comes too late to be believed.
    .init(
      "framing in trailers",
      "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\n\r\nrest",
      gives: [chunked, .trailers(["Content-Length": "99", "Transfer-Encoding": "x"])], leftOver: "rest"),
    .init(
      "a body where there is none", "HTTP/1.1 204\r\nContent-Length: 4\r\n\r\nevil",
      gives: [.head(204, "", ["Content-Length": "4"]), .end], leftOver: "evil"),
    .init(
      "304 that contradicts itself", "HTTP/1.1 304\r\nContent-Length: 4, 5\r\nTransfer-Encoding: x\r\n\r\nevil",
      gives: [.head(304, "", ["Content-Length": "4, 5", "Transfer-Encoding": "x"]), .end], leftOver: "evil"),
    .init(
      "a second response behind the first", "HTTP/1.1 204\r\n\r\nHTTP/1.1 200\r\n\r\nevil", gives: [.head(204), .end],
      leftOver: "HTTP/1.1 200\r\n\r\nevil"),
    .init(
      "an interim response's body is the next head", "HTTP/1.1 103\r\nContent-Length: 4\r\n\r\nevil",
      gives: [
        .head(103, "", ["Content-Length": "4"])
      ], error: .invalidStatusLine),
    .init(
      "an answer to HEAD with a body", methods: ["HEAD", "GET"],
      "HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nevilHTTP/1.1 204\r\n\r\n",
      gives: [.head(200, "", ["Content-Length": "4"]), .end], error: .invalidStatusLine),
  ]

  @Test(arguments: transferEncodings) func transferEncoding(_ response: ScriptedResponse) {
    response.expectSameHoweverCut()
  }

  @Test(arguments: lengths) func length(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: headEnds) func endOfHead(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: chunks) func chunkSize(_ response: ScriptedResponse) { response.expectSameHoweverCut() }

  @Test(arguments: whatFollows) func following(_ response: ScriptedResponse) { response.expectSameHoweverCut() }
}

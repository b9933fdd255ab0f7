import HTTPSemantics
import HTTPTransport
import NIOCore
import Testing

@Suite struct HTTP1RequestEncoderTests {
  func encoded(_ head: HTTPRequestHead, _ framing: RequestBodyFraming = .none) throws -> String {
    var buffer = ByteBuffer()
    try HTTP1RequestEncoder.encode(head, framing: framing, into: &buffer)
    return String(buffer: buffer)
  }

  func head(
    _ method: String = "GET", _ target: String = "/", authority: String = "h.org", _ fields: HTTPFields = [:]
  ) -> HTTPRequestHead {
    HTTPRequestHead(method: method, target: target, authority: authority, scheme: "http", fields: fields)
  }

  @Test func hostComesFirst() throws {
    #expect(
      try encoded(head("GET", "/a?b=c", authority: "h.org:8080", ["Accept": "*/*", "X": "", "x": "ü"]))
        == "GET /a?b=c HTTP/1.1\r\nHost: h.org:8080\r\nAccept: */*\r\nX: \r\nx: ü\r\n\r\n")
    #expect(try encoded(head("OPTIONS", "*", authority: "")) == "OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n")
  }

  @Test(arguments: [
    (RequestBodyFraming.none, ""), (.length(0), "Content-Length: 0\r\n"),
    (.length(.max), "Content-Length: \(Int64.max)\r\n"),
    (.chunked, "Transfer-Encoding: chunked\r\n"), (.length(-1), "Content-Length: 0\r\n"),
  ])
  func framingIsTheEncoders(framing: RequestBodyFraming, line: String) throws {
    let fields: HTTPFields = ["content-length": "7", "Transfer-encoding": "gzip", "HOST": "evil.org", "A": "b"]
    #expect(try encoded(head("POST", fields), framing) == "POST / HTTP/1.1\r\nHost: h.org\r\nA: b\r\n\(line)\r\n")
  }

  private func head(_ method: String, _ fields: HTTPFields) -> HTTPRequestHead { head(method, "/", fields) }

  static let injections: [(String, String, String, HTTPFields, FieldValidation.Refusal)] = [
    ("GET /evil HTTP/1.1\r\n", "/", "h", [:], .invalidMethod),
    ("", "/", "h", [:], .invalidMethod), ("GET", "", "h", [:], .invalidTarget),
    ("GET", "/ HTTP/1.1\r\nX: y\r\n", "h", [:], .invalidTarget), ("GET", "/\u{0}", "h", [:], .invalidTarget),
    ("GET", "/", "h\r\nX: y", [:], .invalidAuthority), ("GET", "/", "a b", [:], .invalidAuthority),
    ("GET", "/", "h", ["A": "b\r\nX: y"], .invalidValue(name: "A")),
    ("GET", "/", "h", ["A": "b\n"], .invalidValue(name: "A")),
    ("GET", "/", "h", ["OK": "ok", "A: b\r\nX": "y"], .invalidName("A: b\r\nX")),
    ("GET", "/", "h", ["": "y"], .invalidName("")), ("GET", "/", "h", ["Host": "a\r\nb"], .invalidValue(name: "Host")),
  ]

  @Test(arguments: injections)
  func injectionsAreRefused(
    method: String, target: String, authority: String, fields: HTTPFields, refusal: FieldValidation.Refusal
  ) {
    var buffer = ByteBuffer(string: "before")
    let head = head(method, target, authority: authority, fields)
    #expect(throws: refusal) { try HTTP1RequestEncoder.encode(head, framing: .none, into: &buffer) }
    #expect(String(buffer: buffer) == "before")
  }

  @Test(arguments: [("", ""), ("x", "1\r\nx\r\n"), ("0123456789abcdef\r\n", "12\r\n0123456789abcdef\r\n\r\n")])
  func chunks(data: String, framed: String) {
    let source = ByteBuffer(string: data)
    #expect(String(buffer: HTTP1RequestEncoder.chunk(source)) == framed)
    #expect(source.readableBytes == data.utf8.count)
  }

  @Test func chunkHeadersAreHexadecimal() {
    var buffer = ByteBuffer()
    HTTP1RequestEncoder.writeChunkHeader(size: 65_536, into: &buffer)
    HTTP1RequestEncoder.writeChunkEnd(into: &buffer)
    #expect(String(buffer: buffer) == "10000\r\n\r\n")
  }

  @Test(
    arguments: [
      (nil, "0\r\n\r\n"), ([:], "0\r\n\r\n"), (["A": "b", "C": "d"], "0\r\nA: b\r\nC: d\r\n\r\n"),
      (["A": "b\r\nX: y", "Content-Length": "5", "C": "d"], "0\r\nC: d\r\n\r\n"),
    ] as [(HTTPFields?, String)])
  func lastChunks(trailers: HTTPFields?, text: String) {
    #expect(String(buffer: HTTP1RequestEncoder.lastChunk(trailers: trailers)) == text)
  }

  @Test func whatIsEncodedCanBeParsed() throws {
    var wire = ByteBuffer(string: "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n")
    var parser = HTTP1ResponseParser()
    for text in ["a", "", "bc\r\n", String(repeating: "x", count: 5_000)] {
      wire.writeImmutableBuffer(HTTP1RequestEncoder.chunk(ByteBuffer(string: text)))
    }
    wire.writeImmutableBuffer(HTTP1RequestEncoder.lastChunk(trailers: ["Sum": "1"]))
    parser.expect(method: "GET")
    var body = ""
    var trailers: HTTPFields?
    while let event = try parser.parse(&wire) {
      switch event {
      case .head: continue
      case .body(let chunk): body += String(buffer: chunk)
      case .end(let fields): trailers = fields
      }
    }
    #expect(body == "abc\r\n" + String(repeating: "x", count: 5_000))
    #expect(trailers == ["Sum": "1"])
  }
}

import HTTPSemantics
import NIOHPACK
import Testing

@testable import HTTPTransport

@Suite struct HTTP2FieldsTests {
  private func pairs(_ list: HPACKHeaders) -> [String] { list.map { "\($0.name)=\($0.value)" } }

  @Test func aRequestsHead() throws {
    var fields = HTTPFields(["User-Agent": "x", "Connection": "close, X-Hop", "X-Hop": "1", "Keep-Alive": "5"])
    for (name, value) in [
      ("Host", "evil"), ("TE", "trailers"), ("Upgrade", "h2c"), ("Transfer-Encoding", "chunked"), ("Cookie", "a=b"),
      ("Content-Length", "9"), ("Authorization", "Basic x"),
    ] {
      fields.append(name, value)
    }
    let head = HTTPRequestHead(
      method: "POST", target: "/p?q", authority: "host:8443", scheme: "https", fields: fields)
    let list = try HTTP2RequestFields.list(head, framing: .length(3))
    #expect(
      pairs(list) == [
        ":method=POST", ":scheme=https", ":authority=host:8443", ":path=/p?q", "user-agent=x", "te=trailers",
        "cookie=a=b", "authorization=Basic x", "content-length=3",
      ])
    // What must not be guessed is not put into the table.
    for name in ["authorization", "cookie"] {
      #expect(list.first { $0.name == name }?.indexable == .neverIndexed, "\(name)")
    }
    #expect(list.first { $0.name == "te" }?.indexable == .indexable)
  }

  /// A proxy is told the whole URL, which HTTP/2 has in parts.
  @Test(arguments: [
    ("/p?q", "http", "/p?q"), ("http://h/p?q", "http", "/p?q"), ("http://h", "http", "/"),
    ("http://h?q", "http", "/?q"),
    ("ftp://h:21/a%20b", "ftp", "/a%20b"), ("/x?http://other/", "http", "/x?http://other/"), ("*", "http", "*"),
  ])
  func aRequestToAProxy(_ target: String, _ scheme: String, _ path: String) throws {
    let head = HTTPRequestHead(method: "GET", target: target, authority: "h", scheme: "http")
    let list = try HTTP2RequestFields.list(head, framing: .none)
    #expect(pairs(list) == [":method=GET", ":scheme=\(scheme)", ":authority=h", ":path=\(path)"])
  }

  /// RFC 8441 §4: with `:protocol` a CONNECT has scheme and path.
  @Test func anExtendedConnect() throws {
    var head = HTTPRequestHead(
      method: "CONNECT", target: "/chat", authority: "h", scheme: "https", fields: ["Sec-WebSocket-Version": "13"])
    #expect(pairs(try HTTP2RequestFields.list(head, framing: .none)).prefix(2) == [":method=CONNECT", ":authority=h"])
    head.connectProtocol = "websocket"
    #expect(
      pairs(try HTTP2RequestFields.list(head, framing: .chunked)) == [
        ":method=CONNECT", ":protocol=websocket", ":scheme=https", ":authority=h", ":path=/chat",
        "sec-websocket-version=13",
      ])
    head.connectProtocol = "web socket"
    #expect(throws: FieldValidation.Refusal.self) { try HTTP2RequestFields.list(head, framing: .chunked) }
  }

  @Test(arguments: [
    HTTPRequestHead(method: "GE T", target: "/", authority: "h", scheme: "https"),
    HTTPRequestHead(method: "GET", target: "/ x", authority: "h", scheme: "https"),
    HTTPRequestHead(method: "GET", target: "/", authority: "h/x", scheme: "https"),
    HTTPRequestHead(method: "GET", target: "/", authority: "h", scheme: "https", fields: ["A": "b\r\nc: d"]),
    HTTPRequestHead(method: "GET", target: "/", authority: "h", scheme: "https", fields: [":path": "/x"]),
  ])
  func injectionsAreRefused(_ head: HTTPRequestHead) {
    #expect(throws: FieldValidation.Refusal.self) { try HTTP2RequestFields.list(head, framing: .none) }
  }

  @Test func aResponsesHead() throws {
    let head = try HTTP2ResponseFields.head(
      [
        (":status", "200"), ("content-type", "text/plain"), ("set-cookie", "a"), ("set-cookie", "b"), ("x", " y\t"),
      ].list)
    #expect(head.status == 200 && head.version == .http2 && head.reason == "")
    #expect(head.fields.values("set-cookie") == ["a", "b"])
    #expect(head.fields["x"] == "y")
  }

  static let broken: [([(String, String)], HTTP2MessageError)] = [
    ([], .invalidStatus),
    ([("a", "b")], .invalidStatus),
    ([(":status", "99")], .invalidStatus),
    ([(":status", "2000")], .invalidStatus),
    ([(":status", "20x")], .invalidStatus),
    ([(":status", "200"), (":status", "200")], .invalidStatus),
    ([(":status", "101")], .invalidStatus),
    ([("a", "b"), (":status", "200")], .unexpectedPseudoField),
    ([(":status", "200"), (":path", "/")], .unexpectedPseudoField),
    ([(":status", "200"), ("Upper", "x")], .invalidFieldName),
    ([(":status", "200"), ("a b", "x")], .invalidFieldName),
    ([(":status", "200"), ("a", "x\r\ny: z")], .invalidFieldValue),
    ([(":status", "200"), ("a", "x\0")], .invalidFieldValue),
    ([(":status", "200"), ("set-cookie", "x\0")], .invalidFieldValue),
    ([(":status", "200"), ("transfer-encoding", "chunked")], .connectionField("transfer-encoding")),
    ([(":status", "200"), ("connection", "close")], .connectionField("connection")),
  ]

  @Test(arguments: broken.indices)
  func brokenHeadsAreRefused(_ index: Int) {
    let (fields, expected) = Self.broken[index]
    #expect(throws: expected) { try HTTP2ResponseFields.head(fields.list) }
  }

  /// RFC 6265bis §5.6 step 1.
  @Test func aCookieWithAControlCharacterIsLeftOut() throws {
    let list = [(":status", "200"), ("set-cookie", "a=\u{1}"), ("set-cookie", "b=2")].list
    #expect(try HTTP2ResponseFields.head(list).fields.values("set-cookie") == ["b=2"])
  }

  @Test func tooManyFieldsAreRefused() {
    let fields = [(":status", "200")] + (0..<5_001).map { ("x-\($0)", "") }
    #expect(throws: HTTP2MessageError.tooManyFields) { try HTTP2ResponseFields.head(fields.list) }
  }

  @Test func trailersHaveNoPseudoFields() throws {
    #expect(try HTTP2ResponseFields.trailers([("a", "b")].list) == ["a": "b"])
    #expect(throws: HTTP2MessageError.unexpectedPseudoField) {
      try HTTP2ResponseFields.trailers([(":status", "200")].list)
    }
  }
}

extension [(String, String)] {
  var list: HPACKHeaders { HPACKHeaders(self) }
}

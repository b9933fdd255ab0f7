import HTTPSemantics
import Testing

@Suite struct WebSocketHandshakeTests {
  /// The answer of RFC 6455 §1.3.
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  private static func answer(_ change: (inout HTTPFields) -> Void = { _ in }) -> HTTPResponseHead {
    var fields = HTTPFields(["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept])
    change(&fields)
    return HTTPResponseHead(status: 101, fields: fields)
  }

  private static func agree(
    _ head: HTTPResponseHead, subprotocols: [String] = ["chat", "v2.chat"]
  ) throws(WebSocketHandshake.Refusal) -> WebSocketHandshake.Agreement {
    let request = WebSocketHandshake.fields(
      key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: subprotocols, request: .init())
    return try WebSocketHandshake.agree(on: head, to: request, accept: accept)
  }

  @Test func requestHasTheFieldsOfTheRFC() {
    let fields = WebSocketHandshake.fields(key: "k", subprotocols: ["a", "b"], request: HTTPFields())
    #expect(fields["Sec-WebSocket-Key"] == "k")
    #expect(fields["Sec-WebSocket-Version"] == "13")
    #expect(fields["Sec-WebSocket-Protocol"] == "a, b")
    #expect(fields["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
    let own = HTTPFields(["Sec-WebSocket-Protocol": "mine", "Sec-WebSocket-Extensions": "x-mine"])
    let rest = WebSocketHandshake.fields(key: "k", subprotocols: ["a"], request: own)
    #expect(rest["Sec-WebSocket-Protocol"] == nil)
    #expect(rest["Sec-WebSocket-Extensions"] == nil)
  }

  @Test func subprotocolsAreTokensAndOfferedOnce() {
    #expect(WebSocketHandshake.offer(["b", "a", "b", "A"]) == ["b", "a", "A"])
    #expect(WebSocketHandshake.offer([]) == [])
    for name in ["", " a", "a b", "a,b", "a\"", "ä", "a\r\nb"] {
      #expect(WebSocketHandshake.offer(["ok", name]) == nil, "\(name)")
    }
  }

  @Test func answerIsAcceptedInAnyCaseAndAmongOtherValues() throws {
    #expect(try Self.agree(Self.answer()) == WebSocketHandshake.Agreement())
    let head = Self.answer {
      $0["Upgrade"] = "h2c, WebSocket"
      $0["Connection"] = "keep-alive, upgrade"
      $0["Sec-WebSocket-Protocol"] = "v2.chat"
    }
    #expect(try Self.agree(head).subprotocol == "v2.chat")
  }

  @Test(
    arguments: [
      ("Upgrade", nil, .noUpgrade), ("Upgrade", "h2c", .noUpgrade), ("Connection", nil, .noConnectionUpgrade),
      ("Connection", "close", .noConnectionUpgrade), ("Sec-WebSocket-Accept", nil, .wrongAccept),
      ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOO=", .wrongAccept),
      ("Sec-WebSocket-Protocol", "Chat", .unofferedSubprotocol("Chat")),
      ("Sec-WebSocket-Protocol", "chat, v2.chat", .unofferedSubprotocol("chat, v2.chat")),
      ("Sec-WebSocket-Extensions", "x-webkit-deflate-frame", .unofferedExtension("x-webkit-deflate-frame")),
      ("Sec-WebSocket-Extensions", "permessage-deflate; mystery", .invalidExtensions),
      ("Sec-WebSocket-Extensions", "permessage-deflate, permessage-deflate", .invalidExtensions),
      ("Sec-WebSocket-Extensions", "permessage-deflate; =", .invalidExtensions),
    ] as [(String, String?, WebSocketHandshake.Refusal)])
  func invalidAnswerIsRefused(_ name: String, _ value: String?, _ refusal: WebSocketHandshake.Refusal) {
    #expect(throws: refusal) { _ = try Self.agree(Self.answer { $0[name] = value }) }
  }

  @Test func refusesAnotherStatusAndTwoAnswersAtOnce() {
    var head = Self.answer()
    head.status = 200
    #expect(throws: WebSocketHandshake.Refusal.status(200)) { _ = try Self.agree(head) }
    let twice = Self.answer { $0.append("Sec-WebSocket-Accept", Self.accept) }
    #expect(throws: WebSocketHandshake.Refusal.wrongAccept) { _ = try Self.agree(twice) }
    let two = Self.answer {
      $0.append("Sec-WebSocket-Protocol", "chat")
      $0.append("Sec-WebSocket-Protocol", "v2.chat")
    }
    #expect(throws: WebSocketHandshake.Refusal.self) { _ = try Self.agree(two) }
  }

  /// RFC 8441 §5: no key, no Upgrade; the status opens it, subprotocol and extensions are agreed on as ever.
  @Test func answerIsAcceptedOverHTTP2() throws {
    let request = WebSocketHandshake.fields(key: nil, subprotocols: ["chat"], request: .init())
    #expect(request["Sec-WebSocket-Key"] == nil && request["Sec-WebSocket-Version"] == "13")
    let head = HTTPResponseHead(
      version: .http2, status: 200,
      fields: ["Sec-WebSocket-Protocol": "chat", "Sec-WebSocket-Extensions": "permessage-deflate"])
    let agreement = try WebSocketHandshake.agree(onTunnel: head, to: request)
    #expect(agreement == .init(subprotocol: "chat", compression: .init()))
    #expect(throws: WebSocketHandshake.Refusal.status(404)) {
      _ = try WebSocketHandshake.agree(onTunnel: HTTPResponseHead(version: .http2, status: 404), to: request)
    }
    let other = HTTPResponseHead(version: .http2, status: 200, fields: ["Sec-WebSocket-Protocol": "x"])
    #expect(throws: WebSocketHandshake.Refusal.unofferedSubprotocol("x")) {
      _ = try WebSocketHandshake.agree(onTunnel: other, to: request)
    }
  }

  @Test(arguments: [
    ("permessage-deflate", false, false, 15), ("permessage-deflate; server_no_context_takeover", true, false, 15),
    ("permessage-deflate; client_no_context_takeover; client_max_window_bits=10", false, true, 10),
    ("Permessage-Deflate ; Client_Max_Window_Bits=\"8\" ; server_max_window_bits = 9", false, false, 8),
  ])
  func compressionParametersAreParsed(_ value: String, _ server: Bool, _ client: Bool, _ bits: Int) throws {
    let terms = try #require(try Self.agree(Self.answer { $0["Sec-WebSocket-Extensions"] = value }).compression)
    #expect(terms.serverForgets == server)
    #expect(terms.clientForgets == client)
    #expect(terms.clientWindowBits == bits)
  }

  @Test(arguments: [
    "client_max_window_bits", "client_max_window_bits=7", "client_max_window_bits=16", "client_max_window_bits=010",
    "server_max_window_bits", "server_no_context_takeover=1", "client_no_context_takeover; client_no_context_takeover",
  ])
  func unknownCompressionParametersAreRefused(_ terms: String) {
    #expect(throws: WebSocketHandshake.Refusal.invalidExtensions) {
      _ = try Self.agree(Self.answer { $0["Sec-WebSocket-Extensions"] = "permessage-deflate; \(terms)" })
    }
  }

  /// An app that offers other extensions gets no compression, and no window it did not offer to limit.
  @Test func extensionsOfTheAppAreLeftToIt() throws {
    let head = Self.answer { $0["Sec-WebSocket-Extensions"] = "permessage-deflate; client_max_window_bits=9" }
    for offer in ["x-mine", "permessage-deflate"] {
      let request = HTTPFields(["Sec-WebSocket-Extensions": offer])
      #expect(throws: WebSocketHandshake.Refusal.self) {
        _ = try WebSocketHandshake.agree(on: head, to: request, accept: Self.accept)
      }
    }
  }
}

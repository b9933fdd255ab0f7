/// The opening handshake of RFC 6455 §4.1, seen from the client: what is asked, and whether the answer will do.
package enum WebSocketHandshake {
  /// The terms that both sides agreed on.
  package struct Agreement: Sendable, Equatable {
    /// The subprotocol the server chose; nil when it chose none.
    package var subprotocol: String?
    /// nil when messages travel uncompressed.
    package var compression: MessageCompression?

    package init(subprotocol: String? = nil, compression: MessageCompression? = nil) {
      self.subprotocol = subprotocol
      self.compression = compression
    }
  }

  /// Why an answer opens no WebSocket.
  package enum Refusal: Error, Sendable, Equatable {
    case status(Int)
    case noUpgrade
    case noConnectionUpgrade
    case wrongAccept
    case unofferedSubprotocol(String)
    case unofferedExtension(String)
    case invalidExtensions

    package var sentence: String {
      switch self {
      case .status(let status): "it has the status \(status) instead of 101, or 2xx over HTTP/2"
      case .noUpgrade: "it does not say “Upgrade: websocket”"
      case .noConnectionUpgrade: "it does not say “Connection: Upgrade”"
      case .wrongAccept: "its Sec-WebSocket-Accept is missing or does not fit the key"
      case .unofferedSubprotocol(let name): "it chooses the subprotocol “\(name)”, which was not offered"
      case .unofferedExtension(let name): "it uses the extension “\(name)”, which was not offered"
      case .invalidExtensions: "its Sec-WebSocket-Extensions contradicts the RFC or the offer"
      }
    }
  }

  /// The text that the key is joined with before it is hashed (RFC 6455 §1.3).
  package static let acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  /// The subprotocols as they can be offered: each once (§4.1 step 10), in their order. nil when one is no token, which
  /// would be several names to the server, or none.
  package static func offer(_ subprotocols: [String]) -> [String]? {
    guard subprotocols.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isToken) }) else { return nil }
    var known: Set<String> = []
    return subprotocols.filter { known.insert($0).inserted }
  }

  /// The fields of §4.1 that are not the connection's own business.
  ///
  /// Subprotocols and extensions that the app asks for itself are sent as they are. There is no key over HTTP/2, where
  /// the handshake cannot be mistaken for another request (RFC 8441 §5).
  package static func fields(key: String?, subprotocols: [String], request: HTTPFields) -> HTTPFields {
    var fields = HTTPFields()
    if let key { fields.append("Sec-WebSocket-Key", key) }
    fields.append("Sec-WebSocket-Version", "13")
    if !subprotocols.isEmpty, !request.contains("Sec-WebSocket-Protocol") {
      fields.append("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))
    }
    if !request.contains("Sec-WebSocket-Extensions") {
      fields.append("Sec-WebSocket-Extensions", MessageCompression.offer)
    }
    return fields
  }

  /// Decides on an answer, in the order of §4.1.
  /// - Parameters:
  ///   - head: the final response to the handshake.
  ///   - request: the fields that were sent.
  ///   - accept: base64 of the SHA-1 of the key that was sent and `acceptSuffix`.
  package static func agree(
    on head: HTTPResponseHead, to request: HTTPFields, accept: String
  ) throws(Refusal) -> Agreement {
    guard head.status == 101 else { throw .status(head.status) }
    guard head.fields.hasToken("websocket", in: "Upgrade") else { throw .noUpgrade }
    guard head.fields.hasToken("Upgrade", in: "Connection") else { throw .noConnectionUpgrade }
    let accepts = head.fields.values("Sec-WebSocket-Accept")
    guard accepts.count == 1, accepts.first?.trimmingHTTPWhitespace() == accept else { throw .wrongAccept }
    return try agree(on: head.fields, to: request)
  }

  /// Decides on the answer to an extended CONNECT (RFC 8441 §5): its status says that the WebSocket is open.
  package static func agree(
    onTunnel head: HTTPResponseHead, to request: HTTPFields
  ) throws(Refusal) -> Agreement {
    guard (200..<300).contains(head.status) else { throw .status(head.status) }
    return try agree(on: head.fields, to: request)
  }

  private static func agree(on answer: HTTPFields, to request: HTTPFields) throws(Refusal) -> Agreement {
    Agreement(
      subprotocol: try subprotocol(chosenIn: answer, of: request),
      compression: try compression(chosenIn: answer, of: request))
  }

  private static func subprotocol(
    chosenIn answer: HTTPFields, of request: HTTPFields
  ) throws(Refusal) -> String? {
    let chosen = answer.values("Sec-WebSocket-Protocol")
    guard let name = chosen.first?.trimmingHTTPWhitespace() else { return nil }
    let offered = request.values("Sec-WebSocket-Protocol").flatMap { value in
      value.split(separator: ",").map { $0.trimmingHTTPWhitespace() }
    }
    // Names of subprotocols are compared as they are: they are case-sensitive.
    guard chosen.count == 1, offered.contains(name) else { throw .unofferedSubprotocol(chosen.joined(separator: ", ")) }
    return name
  }

  private static func compression(
    chosenIn answer: HTTPFields, of request: HTTPFields
  ) throws(Refusal) -> MessageCompression? {
    guard let chosen = WebSocketExtension.list(answer.values("Sec-WebSocket-Extensions")) else {
      throw .invalidExtensions
    }
    guard let first = chosen.first else { return nil }
    let offers = (WebSocketExtension.list(request.values("Sec-WebSocket-Extensions")) ?? []).filter {
      $0.name == MessageCompression.name
    }
    if let unknown = chosen.first(where: { $0.name != MessageCompression.name || offers.isEmpty }) {
      throw .unofferedExtension(unknown.name)
    }
    let mayLimit = offers.contains { $0.parameters.contains { $0.name == "client_max_window_bits" } }
    guard chosen.count == 1,
      let terms = MessageCompression(answer: first.parameters, mayLimitClientWindow: mayLimit)
    else { throw .invalidExtensions }
    return terms
  }
}

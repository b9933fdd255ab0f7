import HTTPSemantics
import NIOCore

/// Asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6). A proxy that asks for a credential is answered on the same
/// connection as long as there is an answer: schemes that authenticate a connection need that.
package struct ConnectNegotiation: ProxyNegotiation {
  private let hop: ProxyHop
  /// RFC 9112 §3.2.3: the authority-form has the port even where it is the scheme's default.
  private let target: String
  private let conversation: (any TunnelConversation)?
  private var parser = HTTP1ResponseParser(limits: ConnectNegotiation.limits)
  private var interimCount = 0
  /// The 407 whose body is being read.
  private var refusal: HTTPResponseHead?
  private var requestCount = 0
  /// Whether the first CONNECT had no message.
  private var wasSilent = false
  /// The 407 to a first CONNECT without a message, until there is a response to the next one.
  private var firstRefusal: HTTPResponseHead?

  /// A proxy's answer is short. What is longer comes from something else.
  private static let limits: HTTP1ResponseParser.Limits = {
    var limits = HTTP1ResponseParser.Limits()
    limits.headBytes = 64 * 1024
    return limits
  }()
  /// The body of a 407 that is read for the sake of the connection.
  private static let maximumRefusalBytes: Int64 = 256 * 1024
  /// No scheme needs more messages.
  private static let maximumRequests = 6

  package init(_ hop: ProxyHop, host: String, port: Int) {
    self.hop = hop
    target = ConnectNegotiation.target(host: host, port: port)
    if case .credential(let credential) = hop.authorization {
      conversation = credential.makeConversation()
    } else {
      conversation = nil
    }
  }

  static func target(host: String, port: Int) -> String {
    "\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
  }

  package mutating func begin() throws(ProxyFailure) -> ProxyNegotiationStep {
    if let conversation { return ask(conversation, after: nil) }
    if case .field(let value) = hop.authorization { return .send(try request(value)) }
    return .send(try request(nil))
  }

  private func ask(_ conversation: any TunnelConversation, after head: HTTPResponseHead?) -> ProxyNegotiationStep {
    let target = target
    return .ask { await conversation.value(for: target, after: head) }
  }

  private mutating func request(_ authorization: String?) throws(ProxyFailure) -> ByteBuffer {
    var head = HTTPRequestHead(method: "CONNECT", target: target, authority: target, scheme: "http")
    if let authorization { head.fields.append("Proxy-Authorization", authorization) }
    var buffer = ByteBuffer()
    do { try HTTP1RequestEncoder.encode(head, framing: .none, into: &buffer) } catch {
      throw ProxyFailure(hop.server, .unsuitable(reason: error.sentence))
    }
    parser.expect(method: "CONNECT")
    requestCount += 1
    return buffer
  }

  /// - Parameter answer: nil after a 407 leaves it as it is.
  package mutating func answered(_ answer: String?) throws(ProxyFailure) -> ByteBuffer {
    if let refusal, answer == nil { throw ProxyFailure(hop.server, .authenticationRequired(refusal)) }
    if refusal == nil { wasSilent = answer == nil }
    if requestCount == 1, wasSilent { firstRefusal = refusal }
    refusal = nil
    return try request(answer)
  }

  /// A proxy that asks, and closes without a word about it, may have asked for the message on another connection.
  package var causeOfEnd: ProxyFailure.Cause { firstRefusal.map { .authenticationRequired($0) } ?? .silent }

  package mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep {
    while true {
      let event: HTTP1ResponseParser.Event?
      do { event = try parser.parse(&input) } catch {
        throw ProxyFailure(
          hop.server, refusal.map { .authenticationRequired($0) } ?? .malformed(reason: "it is not HTTP"))
      }
      switch event {
      case nil: return .needsMore
      case .head(let head): if try opensTunnel(head) { return .done }
      case .body:
        if let refusal, parser.bodyBytes > ConnectNegotiation.maximumRefusalBytes {
          throw ProxyFailure(hop.server, .authenticationRequired(refusal))
        }
      case .end: if let refusal, let conversation { return ask(conversation, after: refusal) }
      }
    }
  }

  private mutating func opensTunnel(_ head: HTTPResponseHead) throws(ProxyFailure) -> Bool {
    firstRefusal = nil
    if head.isInformational {
      interimCount += 1
      guard head.status != 101, interimCount < 16 else {
        throw ProxyFailure(hop.server, .malformed(reason: "interim responses without end"))
      }
      return false
    }
    // RFC 9110 §9.3.6: any 2xx opens the tunnel right behind the head; Content-Length there means nothing.
    if (200..<300).contains(head.status) { return true }
    guard head.status == 407 else { throw ProxyFailure(hop.server, .status(head)) }
    let mayAskAgain =
      conversation != nil && requestCount < ConnectNegotiation.maximumRequests && parser.keepsAlive
      && !head.fields.hasToken("close", in: "Proxy-Connection")
    guard mayAskAgain else { throw ProxyFailure(hop.server, .authenticationRequired(head)) }
    refusal = head
    return false
  }
}

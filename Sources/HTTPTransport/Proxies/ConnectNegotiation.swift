import HTTPSemantics
import NIOCore

/// Asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6).
package struct ConnectNegotiation: ProxyNegotiation {
  private let hop: ProxyHop
  private let host: String
  private let port: Int
  private var parser = HTTP1ResponseParser(limits: ConnectNegotiation.limits)
  private var interimCount = 0

  /// A proxy's answer is short. What is longer comes from something else.
  private static let limits: HTTP1ResponseParser.Limits = {
    var limits = HTTP1ResponseParser.Limits()
    limits.headBytes = 64 * 1024
    return limits
  }()

  package init(_ hop: ProxyHop, host: String, port: Int) {
    self.hop = hop
    self.host = host
    self.port = port
  }

  package mutating func begin() throws(ProxyFailure) -> ByteBuffer {
    // RFC 9112 §3.2.3: the authority-form has the port even where it is the scheme's default.
    let authority = "\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
    var head = HTTPRequestHead(method: "CONNECT", target: authority, authority: authority, scheme: "http")
    if let authorization = hop.authorization { head.fields.append("Proxy-Authorization", authorization) }
    var buffer = ByteBuffer()
    do { try HTTP1RequestEncoder.encode(head, framing: .none, into: &buffer) } catch {
      throw ProxyFailure(hop.server, .unsuitable(reason: error.sentence))
    }
    parser.expect(method: "CONNECT")
    return buffer
  }

  package mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep {
    while true {
      let event: HTTP1ResponseParser.Event?
      do { event = try parser.parse(&input) } catch {
        throw ProxyFailure(hop.server, .malformed(reason: "it is not HTTP"))
      }
      guard let event else { return .needsMore }
      guard case .head(let head) = event else { continue }
      if head.isInformational {
        interimCount += 1
        guard head.status != 101, interimCount < 16 else {
          throw ProxyFailure(hop.server, .malformed(reason: "interim responses without end"))
        }
        continue
      }
      // RFC 9110 §9.3.6: any 2xx opens the tunnel right behind the head; Content-Length there means nothing.
      if (200..<300).contains(head.status) { return .done }
      if head.status == 407 { throw ProxyFailure(hop.server, .authenticationRequired(head)) }
      throw ProxyFailure(hop.server, .status(head))
    }
  }
}

import HTTPSemantics
import NIOCore

/// Asks a SOCKS 4 proxy for a connection. A name goes to it in the manner of SOCKS 4a; where the proxy is given
/// addresses only, the name was resolved before.
package struct SOCKS4Negotiation: ProxyNegotiation {
  private let proxy: ProxyServer
  private let host: String
  private let port: UInt16
  /// The address that the name was resolved to here; nil for 4a.
  private let address: [UInt8]?

  package init(_ proxy: ProxyServer, host: String, port: Int, address: [UInt8]?) {
    self.proxy = proxy
    self.host = host
    self.port = UInt16(clamping: port)
    self.address = address
  }

  package mutating func begin() throws(ProxyFailure) -> ProxyNegotiationStep {
    let username = Array((proxy.credential?.username ?? "").utf8)
    let name = Array(host.utf8)
    guard !username.contains(0), !name.contains(0), username.count <= 255, name.count <= 255 else {
      throw ProxyFailure(proxy, .unsuitable(reason: "a name holds what SOCKS 4 can't express"))
    }
    let literal = IPAddressText(host)
    if let literal, !literal.isIPv4 {
      throw ProxyFailure(proxy, .unsuitable(reason: "SOCKS 4 knows no IPv6 addresses"))
    }
    let target: [UInt8]? = literal?.bytes ?? address
    // 0.0.0.x with x other than 0 says that a name follows.
    var bytes: [UInt8] = [4, 1, UInt8(port >> 8), UInt8(port & 0xff)] + (target ?? [0, 0, 0, 1]) + username + [0]
    if target == nil { bytes += name + [0] }
    return .send(ByteBuffer(bytes: bytes))
  }

  package mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep {
    guard let head = input.getBytes(at: input.readerIndex, length: 2) else { return .needsMore }
    guard head.first == 0 else {
      throw ProxyFailure(proxy, .malformed(reason: "it does not speak SOCKS 4"))
    }
    // 90: granted.
    if let code = head.last, code != 90 { throw ProxyFailure(proxy, .socksReply(version: 4, code: code)) }
    return input.readSlice(length: 8) == nil ? .needsMore : .done
  }
}

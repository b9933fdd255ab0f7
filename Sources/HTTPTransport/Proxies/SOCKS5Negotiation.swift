import HTTPSemantics
import NIOCore

/// Asks a SOCKS 5 proxy for a connection (RFC 1928), with a user name and password where there are any (RFC 1929).
/// Names go to the proxy as names.
package struct SOCKS5Negotiation: ProxyNegotiation {
  private enum State { case method, authentication, reply }

  private let proxy: ProxyServer
  private let host: String
  private let port: UInt16
  private var state = State.method

  package init(_ proxy: ProxyServer, host: String, port: Int) {
    self.proxy = proxy
    self.host = host
    self.port = UInt16(clamping: port)
  }

  package mutating func begin() throws(ProxyFailure) -> ProxyNegotiationStep {
    // 0: no authentication. 2: user name and password.
    .send(ByteBuffer(bytes: proxy.credential == nil ? [5, 1, 0] : [5, 2, 0, 2]))
  }

  package mutating func advance(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep {
    switch state {
    case .method:
      guard let answer = input.readBytes(length: 2) else { return .needsMore }
      guard answer.first == 5 else { throw malformed("it does not speak SOCKS 5") }
      switch answer.last {
      case 0: return .send(try request())
      case 2:
        guard let credential = proxy.credential else { throw ProxyFailure(proxy, .authenticationRequired(nil)) }
        return .sendSecret(try authentication(credential))
      default: throw ProxyFailure(proxy, .authenticationRequired(nil))
      }
    case .authentication:
      guard let answer = input.readBytes(length: 2) else { return .needsMore }
      guard answer.last == 0 else { throw ProxyFailure(proxy, .authenticationRequired(nil)) }
      return .send(try request())
    case .reply: return try reply(&input)
    }
  }

  private mutating func authentication(_ credential: ProxyServer.Credential) throws(ProxyFailure) -> ByteBuffer {
    let username = credential.username.utf8
    // RFC 1929 §2: one byte says how long each is.
    guard (1...255).contains(username.count), credential.secret.count <= 255 else {
      throw ProxyFailure(proxy, .unsuitable(reason: "its user name or password is empty or longer than 255 bytes"))
    }
    state = .authentication
    // With all its room from the start: a buffer that grows leaves its bytes where they were.
    var message = ByteBuffer()
    message.reserveCapacity(3 + username.count + credential.secret.count)
    message.writeBytes([1, UInt8(username.count)])
    message.writeBytes(username)
    message.writeInteger(UInt8(credential.secret.count))
    _ = credential.secret.withBytes { message.writeBytes($0) }
    return message
  }

  /// RFC 1928 §4: CONNECT, and an address of type 1 (IPv4), 3 (name) or 4 (IPv6).
  private mutating func request() throws(ProxyFailure) -> ByteBuffer {
    state = .reply
    var bytes: [UInt8] = [5, 1, 0]
    if let address = IPAddressText(host) {
      bytes += [address.isIPv4 ? 1 : 4] + address.bytes
    } else {
      let name = Array(host.utf8)
      guard (1...255).contains(name.count) else {
        throw ProxyFailure(proxy, .unsuitable(reason: "the host's name is longer than 255 bytes"))
      }
      bytes += [3, UInt8(name.count)] + name
    }
    return ByteBuffer(bytes: bytes + [UInt8(port >> 8), UInt8(port & 0xff)])
  }

  /// RFC 1928 §6. A proxy that refuses may close right after the code.
  private func reply(_ input: inout ByteBuffer) throws(ProxyFailure) -> ProxyNegotiationStep {
    let start = input.readerIndex
    guard let head = input.getBytes(at: start, length: 2) else { return .needsMore }
    guard head.first == 5 else { throw malformed("its reply has another version") }
    if let code = head.last, code != 0 { throw ProxyFailure(proxy, .socksReply(version: 5, code: code)) }
    guard let kind = input.getInteger(at: start + 3, as: UInt8.self) else { return .needsMore }
    let addressLength: Int
    switch kind {
    case 1: addressLength = 4
    case 4: addressLength = 16
    case 3:
      guard let length = input.getInteger(at: start + 4, as: UInt8.self) else { return .needsMore }
      addressLength = 1 + Int(length)
    default: throw malformed("its reply has an address of an unknown kind")
    }
    guard input.readSlice(length: 4 + addressLength + 2) != nil else { return .needsMore }
    return .done
  }

  private func malformed(_ reason: String) -> ProxyFailure { ProxyFailure(proxy, .malformed(reason: reason)) }
}

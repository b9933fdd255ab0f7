/// Scheme, host and port: what credentials are bound to (RFC 9110 §4.3.1).
package struct HTTPOrigin: Sendable, Hashable {
  /// `http` or `https`.
  package var scheme: String
  /// In lower case, without the brackets of an IPv6 address.
  package var host: String
  package var port: Int

  /// nil unless the URL is of http or https and names a host and a possible port.
  package init?(_ url: URIReference) {
    guard let scheme = url.scheme?.asciiLowercased(), scheme == "http" || scheme == "https" else { return nil }
    // RFC 3986 §3.2.1: user information ends at the last @, since none can be part of a host.
    guard var rest = url.authority?.utf8[...] else { return nil }
    if let sign = rest.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.index(after: sign)...] }

    var hostBytes = rest
    var portBytes = rest.suffix(0)
    if rest.first == UInt8(ascii: "[") {
      guard let bracket = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      hostBytes = rest[rest.index(after: rest.startIndex)..<bracket]
      let tail = rest[rest.index(after: bracket)...]
      guard tail.isEmpty || tail.first == UInt8(ascii: ":") else { return nil }
      portBytes = tail.dropFirst()
    } else if let colon = rest.lastIndex(of: UInt8(ascii: ":")) {
      hostBytes = rest[..<colon]
      portBytes = rest[rest.index(after: colon)...]
    }
    guard !hostBytes.isEmpty else { return nil }

    // RFC 3986 §3.2.3: an empty port is the default one.
    var port = scheme == "https" ? 443 : 80
    if !portBytes.isEmpty {
      guard let number = Int64(decimalDigits: portBytes), (0...65_535).contains(number) else { return nil }
      port = Int(number)
    }
    self.scheme = scheme
    self.host = Substring(hostBytes).asciiLowercased()
    self.port = port
  }
}

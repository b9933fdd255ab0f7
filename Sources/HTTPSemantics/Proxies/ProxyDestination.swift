/// The destination of a request, as far as the choice of a proxy depends on it.
package struct ProxyDestination: Sendable, Hashable {
  /// In lower case: `http`, `https`, `ws`, `wss`, `ftp`, or `tcp` for bytes of no known protocol.
  package var scheme: String
  /// In lower case and ASCII; an IPv6 address without brackets.
  package var host: String
  package var port: Int

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// The scheme by which settings without entries for WebSockets and streams name the proxy: `http`, `https` or `ftp`.
  package var widelyKnownScheme: String {
    switch scheme {
    case "http", "ws": "http"
    case "ftp": "ftp"
    default: "https"
    }
  }

  /// A name without a dot, which only the local network knows.
  package var isSimpleName: Bool { !host.utf8.contains(UInt8(ascii: ".")) && IPAddressText(host) == nil }

  /// This very machine: `localhost` and what is below it (RFC 6761 §6.3), and the loopback addresses.
  package var isLoopback: Bool {
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddressText(name)?.isLoopback == true
  }
}

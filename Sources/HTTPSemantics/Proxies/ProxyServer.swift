/// A proxy: what it speaks, where it is, and what it is shown.
package struct ProxyServer: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, Codable {
    /// HTTP, spoken without TLS (RFC 9110 §3.7).
    case http
    /// HTTP, spoken over TLS.
    case https
    /// Is given addresses of IPv4 only, so names are resolved here.
    case socks4
    /// SOCKS 4 that takes names.
    case socks4a
    /// RFC 1928. Names are resolved by the proxy.
    case socks5

    package var isHTTP: Bool { self == .http || self == .https }

    package var defaultPort: Int {
      switch self {
      case .http: 80
      case .https: 443
      case .socks4, .socks4a, .socks5: 1080
      }
    }
  }

  package struct Credential: Sendable, Hashable {
    package let username: String
    package let secret: OverwrittenBytes

    package init(username: String, secret: OverwrittenBytes) {
      self.username = username
      self.secret = secret
    }

    package init(username: String, password: String) {
      self.init(username: username, secret: OverwrittenBytes(password))
    }

    /// In ordinary memory, for what needs a text.
    package var password: String { secret.text }
  }

  package var kind: Kind
  /// A name in ASCII or an address without brackets.
  package var host: String
  package var port: Int
  package var credential: Credential?
  /// Whether plain HTTP, too, goes through a tunnel instead of being asked of the proxy.
  package var tunnelsPlainHTTP = false

  package init(_ kind: Kind, host: String, port: Int? = nil, credential: Credential? = nil) {
    self.kind = kind
    self.host = host
    self.port = port ?? kind.defaultPort
    self.credential = credential
  }

  /// Reads `scheme://user:password@host:port`, all but the host optional; what follows the port is ignored. Without a
  /// scheme it is an HTTP proxy. nil for what has no host, no possible port, or an unknown scheme.
  package init?(url text: String) {
    var rest = text.trimmingHTTPWhitespace()
    var kind = Kind.http
    if let mark = rest.firstRange(of: "://") {
      guard let named = ProxyServer.kind(ofScheme: rest[..<mark.lowerBound].asciiLowercased()) else { return nil }
      kind = named
      rest = String(rest[mark.upperBound...])
    }
    rest = String(rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    var credential: Credential?
    if let at = rest.lastIndex(of: "@") {
      let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      credential = Credential(
        username: ProxyServer.decoded(parts.first ?? ""), password: parts.count > 1 ? ProxyServer.decoded(parts[1]) : ""
      )
      rest = String(rest[rest.index(after: at)...])
    }
    guard let (host, port) = HostAndPort.split(rest), let host = host.isEmpty ? nil : host else { return nil }
    self.init(kind, host: host.asciiLowercased(), port: port, credential: credential)
  }

  /// The words in which settings speak of proxies. `socks` alone is SOCKS 5, as on Apple's systems.
  private static func kind(ofScheme scheme: String) -> Kind? {
    switch scheme {
    case "http": .http
    case "https": .https
    case "socks", "socks5", "socks5h": .socks5
    case "socks4": .socks4
    case "socks4a": .socks4a
    default: nil
    }
  }

  private static func decoded(_ text: some StringProtocol) -> String {
    String(decoding: percentDecoded(text.utf8) ?? [], as: UTF8.self)
  }

  /// For messages and logs: never the credential.
  package var displayName: String {
    "\(kind.rawValue)://\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
  }
}

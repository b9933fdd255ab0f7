/// A proxy for the connections of a session, and the hosts that it is for.
package struct ProxyDescription: Codable, Sendable, Hashable {
  package enum Kind: String, Codable, Sendable {
    case socks5
    /// HTTP/1.1 CONNECT.
    case httpConnect
    /// HTTP/1.1 CONNECT over TLS.
    case httpConnectTLS
  }

  package enum Endpoint: Codable, Sendable, Hashable {
    case host(String, port: UInt16)
    case url(String)
  }

  package struct Credential: Codable, Sendable, Hashable {
    package var username: String
    package var password: String

    package init(username: String, password: String) {
      self.username = username
      self.password = password
    }
  }

  package var kind: Kind
  package var endpoint: Endpoint
  package var credential: Credential?
  /// Whether connections are made without the proxy while it does not work.
  package var allowFailover: Bool
  /// Empty: every host.
  package var matchDomains: [String]
  package var excludedDomains: [String]

  package init(
    kind: Kind, endpoint: Endpoint, credential: Credential? = nil, allowFailover: Bool = false,
    matchDomains: [String] = [], excludedDomains: [String] = []
  ) {
    self.kind = kind
    self.endpoint = endpoint
    self.credential = credential
    self.allowFailover = allowFailover
    self.matchDomains = matchDomains
    self.excludedDomains = excludedDomains
  }
}

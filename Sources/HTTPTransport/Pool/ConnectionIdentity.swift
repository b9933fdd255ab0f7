/// On whose behalf a connection speaks, where the connection itself is authenticated and not each request on it. Part of
/// a connection's key: requests of different identities never share a connection.
package enum ConnectionIdentity: Hashable, Sendable {
  case none
  /// The user that NTLM or Negotiate authenticated on this connection (RFC 4559 §6). The text names the credential:
  /// equal texts share connections.
  case authenticatedUser(String)

  /// The connection speaks for this user to the server, and for another to the proxy that forwards.
  package func joined(with proxyUser: ConnectionIdentity) -> ConnectionIdentity {
    guard case .authenticatedUser(let server) = self, case .authenticatedUser(let proxy) = proxyUser else {
      return self == .none ? proxyUser : self
    }
    return .authenticatedUser("\(server)\u{0}\(proxy)")
  }
}

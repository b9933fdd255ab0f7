/// On whose behalf a connection speaks, where the connection itself is authenticated and not each request on it. Part of
/// a connection's key: requests of different identities never share a connection.
package enum ConnectionIdentity: Hashable, Sendable {
  case none
  /// The user that NTLM or Negotiate authenticated on this connection (RFC 4559 §6). The text names the credential:
  /// equal texts share connections.
  case authenticatedUser(String)
  /// The certificate that the client showed in the TLS handshake: the SHA-256 of its DER form.
  case clientCertificate([UInt8])
}

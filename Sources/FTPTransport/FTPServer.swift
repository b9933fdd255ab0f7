import HTTPTransport

/// An FTP server, and how it is spoken to.
package struct FTPServer: Sendable {
  /// The server, and the proxy that passes bytes on to it, if there is one.
  package var key: ConnectionKey
  /// Whether the server is connected to for the data, as it always is through a proxy.
  package var isPassive: Bool
  package var security: FTPSecurity
  /// Judges the server by its certificates, and says who the client is. Needed where there is security.
  package var handshake: (any HandshakeClient)?

  package init(
    _ key: ConnectionKey, isPassive: Bool = true, security: FTPSecurity = .none,
    handshake: (any HandshakeClient)? = nil
  ) {
    self.key = key
    self.isPassive = isPassive || key.proxy != nil
    self.security = security
    self.handshake = handshake
  }
}

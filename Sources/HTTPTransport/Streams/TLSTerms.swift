/// With whom, and by whose judgement, a connection becomes a TLS connection.
package struct TLSTerms: Sendable {
  package let host: String
  package let port: Int
  /// Judges the server and says who the client is; without one the TLS library judges by the session's store.
  package let handshake: (any HandshakeClient)?
  package let transport: HTTPTransport
  /// A name that several connections to one server have in common, so that each resumes the TLS session of the one
  /// before though an app may be asked about them; nil: sessions are resumed as those of other connections are.
  package var conversation: String?
  /// Told of the connection once it is secure, or has failed to be.
  package var onRecord: (@Sendable (ConnectionRecord) -> Void)?

  package init(host: String, port: Int, handshake: (any HandshakeClient)?, transport: HTTPTransport) {
    self.host = host
    self.port = port
    self.handshake = handshake
    self.transport = transport
  }
}

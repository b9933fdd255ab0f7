/// With whom, and by whose judgement, a connection becomes a TLS connection.
package struct TLSTerms: Sendable {
  package let host: String
  package let port: Int
  /// Judges the server and says who the client is; without one the TLS library judges by the session's store.
  package let handshake: (any HandshakeClient)?
  package let transport: HTTPTransport

  package init(host: String, port: Int, handshake: (any HandshakeClient)?, transport: HTTPTransport) {
    self.host = host
    self.port = port
    self.handshake = handshake
    self.transport = transport
  }
}

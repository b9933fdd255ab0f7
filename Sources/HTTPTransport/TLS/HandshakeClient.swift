import NIOCore

/// The client's side of a TLS handshake: judges the server, and says who the client is.
///
/// Asked on the connection's loop, at most once each, in the middle of the handshake, which waits for the answer. Every
/// promise must be completed sooner or later, also when the connection is no longer wanted.
package protocol HandshakeClient: AnyObject, Sendable {
  /// Whether an app may be asked. When not, the answers are the same for every load, and a connection that its load no
  /// longer needs is finished for the next one.
  var mayBeAsked: Bool { get }
  /// The handshake's minimum beyond the session's own.
  var limits: HandshakeLimits { get }
  /// Judges the server by its certificates (DER, its own first, as it sent them). Fails with why it is refused.
  func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>)
  /// The server asks who the client is. nil answers with no certificate.
  func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>)
}

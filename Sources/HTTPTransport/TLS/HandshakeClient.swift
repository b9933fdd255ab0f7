import NIOCore

/// Whoever a secure connection is made for: judges the server, and says who the client is.
///
/// Asked on the connection's loop, at most once each, in the middle of the handshake, which waits for the answer. Every
/// promise must be completed sooner or later, also when nobody wants the connection any more.
package protocol HandshakeClient: AnyObject, Sendable {
  /// Whether an app may be asked. When not, the answers depend on nobody, and a connection that its load no longer
  /// needs is finished for the next one.
  var mayBeAsked: Bool { get }
  /// What the handshake must reach besides what the session demands.
  var limits: HandshakeLimits { get }
  /// Judges the server by its certificates (DER, its own first, as it sent them). Fails with why it is refused.
  func judge(_ certificates: [[UInt8]], _ verdict: EventLoopPromise<Void>)
  /// The server asks who the client is. nil answers with no certificate.
  func chooseIdentity(for request: CertificateRequest, _ choice: EventLoopPromise<ClientIdentity?>)
}

/// What a policy demands of one host's connections.
package struct HandshakeLimits: Sendable, Equatable {
  /// The version's number on the wire (RFC 8446 §4.1.2); nil demands nothing.
  package var minimumVersion: UInt16?
  /// Only suites whose keys are worthless to who steals the server's key later.
  package var requiresForwardSecrecy = false

  package init(minimumVersion: UInt16? = nil, requiresForwardSecrecy: Bool = false) {
    self.minimumVersion = minimumVersion
    self.requiresForwardSecrecy = requiresForwardSecrecy
  }
}

/// A server's question for a certificate (RFC 8446 §4.3.2, RFC 5246 §7.4.4).
package struct CertificateRequest: Sendable, Equatable {
  /// The DER names of the authorities that the server accepts; empty when it names none.
  package var authorities: [[UInt8]]

  package init(authorities: [[UInt8]] = []) { self.authorities = authorities }
}

/// What a client shows of itself.
package struct ClientIdentity: Sendable {
  /// DER; the client's own first.
  package var certificates: [[UInt8]]
  /// DER: PKCS #8, or the older forms of RSA and EC keys.
  package var privateKey: [UInt8]

  package init(certificates: [[UInt8]], privateKey: [UInt8]) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}

/// Whether the server asked for a certificate of the client, and what it got.
package enum ClientCertificateUse: Sendable { case notWanted, withheld, sent }

/// A server's question for a certificate (RFC 8446 §4.3.2, RFC 5246 §7.4.4).
package struct CertificateRequest: Sendable, Equatable {
  /// The DER names of the authorities that the server accepts; empty when it names none.
  package var authorities: [[UInt8]]

  package init(authorities: [[UInt8]] = []) { self.authorities = authorities }
}

import NIOSSL

/// The certificate that a server showed in a handshake, or in the one that a resumed session began with.
package struct ServerCertificate: Sendable {
  private let certificate: NIOSSLCertificate

  init(_ certificate: NIOSSLCertificate) { self.certificate = certificate }

  /// nil where the bytes are no certificate.
  init?(der bytes: [UInt8]) {
    guard let certificate = try? NIOSSLCertificate(bytes: bytes, format: .der) else { return nil }
    self.certificate = certificate
  }

  /// In DER; nil when it can't be encoded.
  package var derBytes: [UInt8]? { try? certificate.toDERBytes() }
}

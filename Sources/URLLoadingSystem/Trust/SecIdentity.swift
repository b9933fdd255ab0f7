import Foundation

/// A certificate with its private key: what a client shows a server to prove who it is.
public final class SecIdentity: Sendable, Hashable {
  package let certificate: SecCertificate
  /// The private key's DER encoding (PKCS #8).
  package let privateKeyDERBytes: Data

  package init(certificate: SecCertificate, privateKeyDERBytes: Data) {
    self.certificate = certificate
    self.privateKeyDERBytes = privateKeyDERBytes
  }

  public static func == (left: SecIdentity, right: SecIdentity) -> Bool {
    left.certificate == right.certificate && left.privateKeyDERBytes == right.privateKeyDERBytes
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(certificate) }
}

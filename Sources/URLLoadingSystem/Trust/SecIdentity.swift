import Foundation
import HTTPTransport
import X509

/// A certificate with its private key: what a client shows a server to prove who it is. Immutable.
public final class SecIdentity: Sendable, Hashable {
  package let certificate: SecCertificate
  /// The private key's DER encoding.
  package let privateKeyDERBytes: Data

  package init(certificate: SecCertificate, privateKeyDERBytes: Data) {
    self.certificate = certificate
    self.privateKeyDERBytes = privateKeyDERBytes
  }

  /// An identity from PEM text, as servers and command line tools keep it.
  ///
  /// Not part of Apple's API. Certificates after the first are left out: give them to
  /// `URLCredential(identity:certificates:persistence:)`.
  /// - Parameters:
  ///   - pemCertificate: The certificate.
  ///   - pemPrivateKey: Its private key.
  ///   - passphrase: What the key is locked with; nil when it is not.
  /// - Throws: An error of `NSOSStatusErrorDomain` when one of the two can't be read, or they do not fit each other.
  public convenience init(pemCertificate: Data, pemPrivateKey: Data, passphrase: String? = nil) throws {
    do {
      let read = try ClientIdentity(
        certificatesPEM: Array(pemCertificate), privateKeyPEM: Array(pemPrivateKey), passphrase: passphrase)
      guard let first = read.certificates.first else { throw ClientIdentity.ReadingError.incomplete }
      self.init(certificate: SecCertificate(derBytes: Data(first)), privateKeyDERBytes: Data(read.privateKey))
    } catch { throw SecurityError.make(errSecDecode, "The identity can't be read: \(error)") }
    guard keyFitsCertificate else { throw SecurityError.make(errSecParam, "The private key is another certificate's.") }
  }

  public static func == (left: SecIdentity, right: SecIdentity) -> Bool {
    left.certificate == right.certificate && left.privateKeyDERBytes == right.privateKeyDERBytes
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(certificate) }

  private var keyFitsCertificate: Bool {
    guard let parsed = certificate.parsed else { return false }
    return SecKey(parsed.publicKey, privateKeyDERBytes: privateKeyDERBytes).halvesMatch
  }
}

/// Puts the identity's certificate into `certificate`.
public func SecIdentityCopyCertificate(
  _ identity: SecIdentity, _ certificate: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
  certificate.pointee = identity.certificate
  return errSecSuccess
}

/// Puts the identity's private key into `privateKey`.
public func SecIdentityCopyPrivateKey(
  _ identity: SecIdentity, _ privateKey: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
  guard let parsed = identity.certificate.parsed else { return errSecInvalidCertificateRef }
  privateKey.pointee = SecKey(parsed.publicKey, privateKeyDERBytes: identity.privateKeyDERBytes)
  return errSecSuccess
}

/// An identity of a certificate and its private key; nil when `privateKey` is a public key or another certificate's.
/// `allocator` is unused; pass nil.
public func SecIdentityCreate(
  _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
  guard let parsed = certificate.parsed, let bytes = privateKey.privateKeyDERBytes,
    privateKey.publicBytes == Data(parsed.publicKey.subjectPublicKeyInfoBytes)
  else { return nil }
  return SecIdentity(certificate: certificate, privateKeyDERBytes: bytes)
}

import Crypto
import Foundation
import X509
import _CryptoExtras

/// A public key, or the private key of an identity. Immutable.
public final class SecKey: Sendable, Hashable, CustomStringConvertible {
  enum Algorithm: Sendable, Hashable { case rsa, ellipticCurve, ed25519, unknown }

  let algorithm: Algorithm
  let sizeInBits: Int
  /// RSA: PKCS #1. Elliptic curves: X9.63. Ed25519: the key's bytes.
  let publicBytes: Data
  /// The private key's DER encoding; nil for a public key.
  package let privateKeyDERBytes: Data?

  init(_ key: Certificate.PublicKey, privateKeyDERBytes: Data? = nil) {
    publicBytes = Data(key.subjectPublicKeyInfoBytes)
    self.privateKeyDERBytes = privateKeyDERBytes
    if let rsa = _RSA.Signing.PublicKey(key) {
      (algorithm, sizeInBits) = (.rsa, rsa.keySizeInBits)
    } else if P256.Signing.PublicKey(key) != nil {
      (algorithm, sizeInBits) = (.ellipticCurve, 256)
    } else if P384.Signing.PublicKey(key) != nil {
      (algorithm, sizeInBits) = (.ellipticCurve, 384)
    } else if P521.Signing.PublicKey(key) != nil {
      (algorithm, sizeInBits) = (.ellipticCurve, 521)
    } else if Curve25519.Signing.PublicKey(key) != nil {
      (algorithm, sizeInBits) = (.ed25519, 256)
    } else {
      (algorithm, sizeInBits) = (.unknown, publicBytes.count * 8)
    }
  }

  public static func == (left: SecKey, right: SecKey) -> Bool {
    left.publicBytes == right.publicBytes && left.algorithm == right.algorithm
      && left.privateKeyDERBytes == right.privateKeyDERBytes
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(publicBytes) }

  /// The kind of key, without its bytes.
  public var description: String {
    "<SecKey: \(privateKeyDERBytes == nil ? "public" : "private") \(algorithm), \(sizeInBits) bits>"
  }

  /// Whether the private key is that of the public one. Kinds of keys that only the TLS library knows are left to the
  /// server to judge.
  var halvesMatch: Bool {
    guard let der = privateKeyDERBytes else { return true }
    switch (algorithm, sizeInBits) {
    case (.rsa, _):
      return (try? _RSA.Signing.PrivateKey(derRepresentation: der))?.publicKey.pkcs1DERRepresentation == publicBytes
    case (.ellipticCurve, 256):
      return (try? P256.Signing.PrivateKey(derRepresentation: der))?.publicKey.x963Representation == publicBytes
    case (.ellipticCurve, 384):
      return (try? P384.Signing.PrivateKey(derRepresentation: der))?.publicKey.x963Representation == publicBytes
    case (.ellipticCurve, 521):
      return (try? P521.Signing.PrivateKey(derRepresentation: der))?.publicKey.x963Representation == publicBytes
    default: return true
    }
  }

  /// The form of `SecKeyCopyExternalRepresentation`; nil when the key has none.
  var externalBytes: Data? {
    guard let privateKeyDERBytes else { return publicBytes }
    switch (algorithm, sizeInBits) {
    case (.rsa, _): return (try? _RSA.Signing.PrivateKey(derRepresentation: privateKeyDERBytes))?.derRepresentation
    case (.ellipticCurve, 256):
      return (try? P256.Signing.PrivateKey(derRepresentation: privateKeyDERBytes))?.x963Representation
    case (.ellipticCurve, 384):
      return (try? P384.Signing.PrivateKey(derRepresentation: privateKeyDERBytes))?.x963Representation
    case (.ellipticCurve, 521):
      return (try? P521.Signing.PrivateKey(derRepresentation: privateKeyDERBytes))?.x963Representation
    default: return nil
    }
  }
}

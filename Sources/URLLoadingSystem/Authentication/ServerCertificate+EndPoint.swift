import Crypto
import Foundation
import HTTPTransport
import X509

extension ServerCertificate {
  /// The hash of the channel binding `tls-server-end-point` (RFC 5929 §4.1): by the hash function of the certificate's
  /// signature, SHA-256 in the place of MD5 and SHA-1. nil where the signature has none, and for unreadable certificates.
  var endPointHash: [UInt8]? {
    guard let derBytes, let certificate = try? Certificate(derEncoded: derBytes) else { return nil }
    switch certificate.signatureAlgorithm {
    case .ed25519: return nil
    case .ecdsaWithSHA384, .sha384WithRSAEncryption: return Array(SHA384.hash(data: derBytes))
    case .ecdsaWithSHA512, .sha512WithRSAEncryption: return Array(SHA512.hash(data: derBytes))
    default: return Array(SHA256.hash(data: derBytes))
    }
  }
}

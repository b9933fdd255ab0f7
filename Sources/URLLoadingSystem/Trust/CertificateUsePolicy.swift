import Crypto
import SwiftASN1
import X509
import _CryptoExtras

/// The demands of TLS on the certificates of a chain beyond RFC 5280: what they are for, and that they are strong
/// enough.
struct CertificateUsePolicy: Sendable {
  private let usage: ExtendedKeyUsage.Usage?

  init(_ kind: SecPolicy.Kind) {
    switch kind {
    case .server: usage = .serverAuth
    case .client: usage = .clientAuth
    case .basic: usage = nil
    }
  }

  /// The critical extensions that are evaluated. Any certificate policy will do, since no certain one is required.
  static let known: [ASN1ObjectIdentifier] = [
    .X509ExtensionID.basicConstraints, .X509ExtensionID.nameConstraints, .X509ExtensionID.keyUsage,
    .X509ExtensionID.extendedKeyUsage, .X509ExtensionID.subjectAlternativeName, [2, 5, 29, 32],
  ]

  /// Why the chain may not be used; nil when it may.
  func objection(to chain: some Collection<Certificate>) -> String? {
    for (index, certificate) in chain.enumerated() {
      // The root is trusted for what it is, not for what it says of itself.
      if index > 0, index == chain.count - 1 { continue }
      if let usage, !CertificateUsePolicy.isFor(usage, certificate) {
        return "\(certificate.subject) is not meant for TLS \(usage == .clientAuth ? "clients" : "servers")"
      }
      if usage != nil, let weakness = CertificateUsePolicy.weakness(of: certificate) {
        return "\(certificate.subject) has \(weakness)"
      }
    }
    return nil
  }

  /// RFC 5280 §4.2.1.12: without the extension a certificate is for everything.
  private static func isFor(_ usage: ExtendedKeyUsage.Usage, _ certificate: Certificate) -> Bool {
    guard certificate.extensions[oid: .X509ExtensionID.extendedKeyUsage] != nil else { return true }
    guard let usages = try? certificate.extensions.extendedKeyUsage else { return false }
    return usages.contains(usage) || usages.contains(.any)
  }

  /// Algorithms with which no authority signs any more, and which Apple's systems refuse too.
  private static func weakness(of certificate: Certificate) -> String? {
    if certificate.signatureAlgorithm == .sha1WithRSAEncryption {
      return "a signature over SHA-1"
    }
    if let rsa = _RSA.Signing.PublicKey(certificate.publicKey), rsa.keySizeInBits < 2048 {
      return "an RSA key of \(rsa.keySizeInBits) bits"
    }
    return nil
  }
}

/// All policies of a trust, as one rule of the verifier.
struct UsePolicies: VerifierPolicy {
  let policies: [CertificateUsePolicy]
  let verifyingCriticalExtensions = CertificateUsePolicy.known

  func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
    for policy in policies {
      if let reason = policy.objection(to: chain) { return .failsToMeetPolicy(reason: .init(reason)) }
    }
    return .meetsPolicy
  }
}

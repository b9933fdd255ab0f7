import Foundation

/// Why a chain of certificates is not trusted.
package enum TrustFailure: Error, Hashable, Sendable {
  /// There is no certificate, or the first can't be read.
  case unreadable
  case wrongHost(String)
  /// The chain begins and ends with one certificate that is signed by itself and is not trusted.
  case selfSigned
  /// The chain is complete, but its root is not among the trusted ones.
  case untrustedRoot(String)
  /// The chain leads to no root: nothing is known of this issuer.
  case unknownIssuer(String)
  case expired(Date)
  case notYetValid(Date)
  /// A chain to a trusted root was found, and breaks a rule.
  case notAllowed(String)

  /// The code that a load ends with.
  package var urlErrorCode: URLError.Code {
    switch self {
    case .expired: .serverCertificateHasBadDate
    case .notYetValid: .serverCertificateNotYetValid
    case .unknownIssuer: .serverCertificateHasUnknownRoot
    case .unreadable, .wrongHost, .selfSigned, .untrustedRoot, .notAllowed: .serverCertificateUntrusted
    }
  }

  var status: OSStatus {
    switch self {
    case .unreadable: errSecInvalidCertificateRef
    case .wrongHost: errSecHostNameMismatch
    case .selfSigned, .untrustedRoot: errSecNotTrusted
    case .unknownIssuer: errSecCreateChainFailed
    case .expired: errSecCertificateExpired
    case .notYetValid: errSecCertificateNotValidYet
    case .notAllowed: errSecCertificatePolicyNotAllowed
    }
  }

  /// The fault, as the end of a sentence.
  package var phrase: String {
    switch self {
    case .unreadable: "its certificate can't be read"
    case .wrongHost(let host): "its certificate is not for \(host)"
    case .selfSigned: "its certificate is signed by itself"
    case .untrustedRoot(let name): "its certificate comes from an authority that is not trusted, \(name)"
    case .unknownIssuer(let name): "its certificate comes from an authority that is not known, \(name)"
    case .expired(let date): "its certificate has expired on \(date.formatted(.iso8601))"
    case .notYetValid(let date): "its certificate is not valid before \(date.formatted(.iso8601))"
    case .notAllowed(let reason): "its certificates break a rule: \(reason)"
    }
  }
}

/// The result of judging a chain.
package struct TrustEvaluation: Sendable {
  /// nil when the chain is trusted.
  package var failure: TrustFailure?
  /// From the server's own certificate to the root; as far as it got when it was not trusted.
  package var chain: [SecCertificate]
  /// Whether it is trusted because the app set an exception for it.
  package var isByException = false
}

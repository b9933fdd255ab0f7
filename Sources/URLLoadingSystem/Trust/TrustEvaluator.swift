import Foundation
import SwiftASN1
import Synchronization
@_spi(DisableValidityCheck) @_spi(FixedExpiryValidationTime) import X509

/// Judges chains of certificates: RFC 5280 by swift-certificates, names by RFC 9525, and what TLS asks of certificates.
/// No clock besides the one it may be given, no I/O.
struct TrustEvaluator {
  private let settings: SecTrust.Settings
  private let trusted: TrustedCertificates
  private let roots: CertificateStore

  /// - Parameter trusted: The session's authorities; none when only the anchors count.
  init(_ settings: SecTrust.Settings, trusted: TrustedCertificates) {
    self.settings = settings
    self.trusted = trusted
    roots = trusted.store.appending(contentsOf: settings.anchors.compactMap(\.parsed))
  }

  /// A server that sends more is not followed further.
  private static let longestChain = 16

  func evaluate(_ certificates: [SecCertificate]) async -> TrustEvaluation {
    guard let first = certificates.first, let leaf = first.parsed else {
      return TrustEvaluation(failure: .unreadable, chain: certificates)
    }
    var evaluation: TrustEvaluation
    if trusted.contains(first) || settings.anchors.contains(first) {
      evaluation = TrustEvaluation(failure: failure(ofTrusted: leaf), chain: [first])
    } else {
      let others = certificates.dropFirst().prefix(TrustEvaluator.longestChain).compactMap(\.parsed)
      evaluation = await judge(leaf, others)
    }
    if evaluation.failure != nil, let exceptions = settings.exceptions, exceptions == Self.fingerprint(certificates) {
      evaluation.failure = nil
      evaluation.isByException = true
    }
    return evaluation
  }

  /// The exceptions that `SecTrustCopyExceptions` remembers: these very certificates.
  static func fingerprint(_ certificates: [SecCertificate]) -> Data {
    certificates.reduce(into: Data()) { $0 += $1.derBytes }
  }

  /// A server whose own certificate is trusted needs no authority's signature.
  private func failure(ofTrusted leaf: Certificate) -> TrustFailure? {
    for policy in settings.policies {
      if let reason = CertificateUsePolicy(policy.kind).objection(to: [leaf]) { return .notAllowed(reason) }
    }
    if let failure = nameFailure(leaf) { return failure }
    let now = settings.date ?? Date()
    let isInTime = leaf.notValidBefore <= now && now <= leaf.notValidAfter
    return isInTime ? nil : dateFailure([SecCertificate(leaf)])
  }

  private func judge(_ leaf: Certificate, _ others: [Certificate]) async -> TrustEvaluation {
    let date = settings.date
    let today = date.map { RFC5280Policy(fixedExpiryValidationTime: $0) } ?? RFC5280Policy()
    switch await search(leaf, others, today) {
    case .found(let chain): return TrustEvaluation(failure: nameFailure(leaf), chain: chain)
    case .broken, .none: break
    }
    // The dates may be all that is wrong: of several chains one may have been valid, so they are not looked at first.
    switch await search(leaf, others, .withValidityCheckDisabled()) {
    case .found(let chain):
      return TrustEvaluation(failure: nameFailure(leaf) ?? dateFailure(chain), chain: chain)
    case .broken(let reason, let chain): return TrustEvaluation(failure: .notAllowed(reason), chain: chain)
    case .none(let failure, let chain): return TrustEvaluation(failure: failure, chain: chain)
    }
  }

  // MARK: The chain

  private enum Search {
    case found([SecCertificate])
    case broken(String, [SecCertificate])
    case none(TrustFailure, [SecCertificate])
  }

  private func search(_ leaf: Certificate, _ others: [Certificate], _ rules: RFC5280Policy) async -> Search {
    let usages = settings.policies.map { CertificateUsePolicy($0.kind) }
    var verifier = Verifier(rootCertificates: roots) {
      rules
      UsePolicies(policies: usages)
    }
    let intermediates = CertificateStore(custom: BoundedStore(others))
    switch await verifier.validate(leaf: leaf, intermediates: intermediates) {
    case .validCertificate(let chain): return .found(chain.map { SecCertificate($0) })
    case .couldNotValidate(let failures):
      if let first = failures.first {
        return .broken("\(first.policyFailureReason)", first.chain.map { SecCertificate($0) })
      }
      return deadEnd(leaf, others)
    }
  }

  /// The last certificate of a chain that leads to no root.
  private func deadEnd(_ leaf: Certificate, _ others: [Certificate]) -> Search {
    if leaf.hasCriticalExtension(besides: CertificateUsePolicy.known) {
      return .broken("the certificate has a critical extension that is not understood", [SecCertificate(leaf)])
    }
    var chain = [leaf]
    while let last = chain.last, last.issuer != last.subject, chain.count <= TrustEvaluator.longestChain,
      let issuer = others.first(where: { $0.subject == last.issuer && !chain.contains($0) })
    { chain.append(issuer) }
    let path = chain.map { SecCertificate($0) }
    guard let last = path.last, let parsed = last.parsed else { return .none(.unreadable, path) }
    guard last.isSelfSigned else { return .none(.unknownIssuer("\(parsed.issuer)"), path) }
    return .none(path.count == 1 ? .selfSigned : .untrustedRoot("\(parsed.subject)"), path)
  }

  // MARK: Names and dates

  private func nameFailure(_ leaf: Certificate) -> TrustFailure? {
    for host in settings.policies.compactMap(\.host) where !ServerNames(of: leaf).cover(host) {
      return .wrongHost(host)
    }
    return nil
  }

  private func dateFailure(_ chain: [SecCertificate]) -> TrustFailure? {
    let now = settings.date ?? Date()
    for certificate in chain.compactMap(\.parsed) {
      if now > certificate.notValidAfter { return .expired(certificate.notValidAfter) }
      if now < certificate.notValidBefore { return .notYetValid(certificate.notValidBefore) }
    }
    return .notAllowed("a certificate is valid at no time")
  }
}

extension Certificate {
  func hasCriticalExtension(besides known: [ASN1ObjectIdentifier]) -> Bool {
    extensions.contains { $0.critical && !known.contains($0.oid) }
  }
}

/// The certificates that a server sent besides its own. It could send many that all seem to have signed each other:
/// after so many questions there are no further answers, and the search ends.
private struct BoundedStore: CustomCertificateStore {
  private final class Budget: Sendable {
    let questions = Atomic<Int>(64)
  }

  private let certificates: [Certificate]
  private let budget = Budget()

  init(_ certificates: [Certificate]) { self.certificates = certificates }

  subscript(subject: DistinguishedName) -> [Certificate]? {
    get async {
      guard budget.questions.subtract(1, ordering: .relaxed).newValue >= 0 else { return nil }
      let found = certificates.filter { $0.subject == subject }
      return found.isEmpty ? nil : found
    }
  }

  func contains(_ certificate: Certificate) async -> Bool { certificates.contains(certificate) }

  mutating func append(contentsOf certificates: some Sequence<Certificate>) {
    self = BoundedStore(self.certificates + Array(certificates))
  }

  static func == (left: BoundedStore, right: BoundedStore) -> Bool { left.certificates == right.certificates }

  func hash(into hasher: inout Hasher) { hasher.combine(certificates) }
}

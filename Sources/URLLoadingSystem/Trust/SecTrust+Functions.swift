import Foundation

// MARK: Making

/// A trust in `certificates`, to be judged by `policies`.
///
/// - Parameters:
///   - certificates: One `SecCertificate`, or an array of them, the one to be judged first.
///   - policies: One `SecPolicy`, an array of them, or nil for `SecPolicyCreateBasicX509()`.
///   - trust: Gets the result.
public func SecTrustCreateWithCertificates(
  _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
  trust.pointee = nil
  let chain: [SecCertificate]
  switch certificates {
  case let one as SecCertificate: chain = [one]
  case let several as [Any]: chain = several.compactMap { $0 as? SecCertificate }
  default: return errSecParam
  }
  guard !chain.isEmpty, let policies = policyList(policies) else { return errSecParam }
  trust.pointee = SecTrust(
    certificates: chain, host: policies.lazy.compactMap(\.host).first, policies: policies, roots: .system)
  return errSecSuccess
}

// MARK: What counts

/// Replaces the policies: one `SecPolicy`, or an array of them.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
  guard let list = policyList(policies) else { return errSecParam }
  trust.change { $0.policies = list }
  return errSecSuccess
}

/// Puts the policies into `policies`, as an array of `SecPolicy`.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
  policies.pointee = trust.settings.policies
  return errSecSuccess
}

private func policyList(_ policies: CFTypeRef?) -> [SecPolicy]? {
  switch policies {
  case nil: return [SecPolicy(.basic)]
  case let one as SecPolicy: return [one]
  case let several as [Any]:
    let list = several.compactMap { $0 as? SecPolicy }
    return list.count == several.count && !list.isEmpty ? list : nil
  default: return nil
  }
}

/// Trusts these certificates, and from then on only these; see `SecTrustSetAnchorCertificatesOnly`. nil goes back to
/// the system's authorities.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
  let anchors = (anchorCertificates ?? []).compactMap { $0 as? SecCertificate }
  guard anchors.count == anchorCertificates?.count ?? 0 else { return errSecParam }
  trust.change {
    $0.anchors = anchors
    $0.trustsOnlyAnchors = anchorCertificates != nil
  }
  return errSecSuccess
}

/// Whether only the anchors are trusted, or the system's authorities besides them.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
  trust.change { $0.trustsOnlyAnchors = anchorCertificatesOnly }
  return errSecSuccess
}

/// Puts the anchors into `anchors`, as an array of `SecCertificate`; nil when none were set.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
  _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
  let list = trust.settings.anchors
  anchors.pointee = list.isEmpty ? nil : list
  return errSecSuccess
}

/// Judges as if it were this date.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
  trust.change { $0.date = verifyDate }
  return errSecSuccess
}

/// The date that is judged by, in seconds since 1 January 2001.
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
  (trust.settings.date ?? Date()).timeIntervalSinceReferenceDate
}

/// Remembered, without effect: nothing is fetched to judge a chain.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
  trust.change { $0.mayFetch = allowFetch }
  return errSecSuccess
}

/// Puts what `SecTrustSetNetworkFetchAllowed` was given into `allowFetch`.
@discardableResult
public func SecTrustGetNetworkFetchAllowed(
  _ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<DarwinBoolean>
) -> OSStatus {
  allowFetch.pointee = trust.settings.mayFetch
  return errSecSuccess
}

/// Answers of OCSP that a server sent along: accepted, and not looked at.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus { errSecSuccess }

/// The data with which `SecTrustSetExceptions` is told to trust these very certificates whatever is wrong with them.
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? { TrustEvaluator.fingerprint(trust.certificates) }

/// Trusts the certificates in spite of what is wrong with them, if `exceptions` is about them. nil takes that back.
///
/// - Returns: Whether the exceptions are about these certificates.
@discardableResult
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool {
  trust.change { $0.exceptions = exceptions }
  return exceptions == nil || exceptions == TrustEvaluator.fingerprint(trust.certificates)
}

// MARK: Parts

/// The chain that was found, from the certificate itself to its root; before anything was judged, or when no chain was
/// found, the certificates as they came.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { trust.knownChain }

/// The number of certificates of `SecTrustCopyCertificateChain`.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.knownChain.count }

/// A certificate of `SecTrustCopyCertificateChain`; nil when there is none at `ix`.
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
  let chain = trust.knownChain
  return chain.indices.contains(ix) ? chain[ix] : nil
}

/// The public key of the certificate itself.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { trust.certificates.first.flatMap(SecCertificateCopyKey) }

/// The older name of `SecTrustCopyKey`.
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

extension SecTrust {
  /// Pinning code looks for a root or an intermediate in the chain, so a chain is judged before it is shown.
  fileprivate var knownChain: [SecCertificate] {
    let evaluation = evaluateNow()
    return evaluation.failure == nil ? evaluation.chain : certificates
  }
}

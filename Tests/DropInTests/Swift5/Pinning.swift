import Foundation
import FoundationNetworking

// Pinning as libraries for Apple's systems are written: an evaluator for each host, and pins of certificates, of keys,
// or of authorities. Nothing here knows that it runs on Linux.

protocol TrustEvaluating {
  func evaluate(_ trust: SecTrust, forHost host: String) throws
}

enum PinningError: Error {
  case policyApplicationFailed(status: OSStatus)
  case noCertificates
  case defaultEvaluationFailed(Error?)
  case nothingPinned(host: String)
}

/// The rules of the system, with the host checked.
final class DefaultEvaluator: TrustEvaluating {
  func evaluate(_ trust: SecTrust, forHost host: String) throws {
    let policy = SecPolicyCreateSSL(true, host as CFString)
    let status = SecTrustSetPolicies(trust, policy)
    guard status == errSecSuccess else { throw PinningError.policyApplicationFailed(status: status) }
    var error: CFError?
    guard SecTrustEvaluateWithError(trust, &error) else { throw PinningError.defaultEvaluationFailed(error as Error?) }
  }
}

/// Only these certificates, or what they have signed.
final class PinnedCertificatesEvaluator: TrustEvaluating {
  private let certificates: [SecCertificate]
  private let acceptsSelfSigned: Bool

  init(certificates: [SecCertificate], acceptsSelfSigned: Bool = false) {
    self.certificates = certificates
    self.acceptsSelfSigned = acceptsSelfSigned
  }

  func evaluate(_ trust: SecTrust, forHost host: String) throws {
    if acceptsSelfSigned {
      guard SecTrustSetAnchorCertificates(trust, certificates as CFArray) == errSecSuccess,
        SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
      else { throw PinningError.noCertificates }
    }
    try DefaultEvaluator().evaluate(trust, forHost: host)
    guard let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] else {
      throw PinningError.noCertificates
    }
    let shown = Set(chain.map { SecCertificateCopyData($0) as Data })
    let pinned = Set(certificates.map { SecCertificateCopyData($0) as Data })
    guard !shown.isDisjoint(with: pinned) else { throw PinningError.nothingPinned(host: host) }
  }
}

/// Only servers with one of these keys.
final class PublicKeysEvaluator: TrustEvaluating {
  private let keys: [Data]

  init(keys: [SecKey]) { self.keys = keys.compactMap { Self.bytes(of: $0) } }

  static func bytes(of key: SecKey) -> Data? {
    guard let attributes = SecKeyCopyAttributes(key) as? [CFString: Any],
      attributes[kSecAttrKeySizeInBits] is Int, attributes[kSecAttrKeyType] != nil
    else { return nil }
    var error: CFError?
    return SecKeyCopyExternalRepresentation(key, &error) as Data?
  }

  func evaluate(_ trust: SecTrust, forHost host: String) throws {
    let count = SecTrustGetCertificateCount(trust)
    for index in 0..<count {
      guard let certificate = SecTrustGetCertificateAtIndex(trust, index),
        let key = SecCertificateCopyKey(certificate), let bytes = Self.bytes(of: key)
      else { continue }
      if keys.contains(bytes) { return }
    }
    throw PinningError.nothingPinned(host: host)
  }
}

/// Asks the evaluator of the host; a host without one gets the default handling.
final class HostPinningDelegate: NSObject, URLSessionDelegate, URLSessionTaskDelegate {
  let evaluators: [String: TrustEvaluating]
  private(set) var failures: [Error] = []
  private(set) var hosts: [String] = []

  init(evaluators: [String: TrustEvaluating]) {
    self.evaluators = evaluators
  }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust else {
      completionHandler(.performDefaultHandling, nil)
      return
    }
    hosts.append(space.host)
    guard let evaluator = evaluators[space.host] else {
      completionHandler(.performDefaultHandling, nil)
      return
    }
    do {
      try evaluator.evaluate(trust, forHost: space.host)
      completionHandler(.useCredential, URLCredential(trust: trust))
    } catch {
      failures.append(error)
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }
}

/// A client's certificate from the bundle, as examples all over show it.
func loadIdentity(from data: Data, password: String) -> (SecIdentity, [SecCertificate])? {
  let options: NSDictionaryLike = [kSecImportExportPassphrase as String: password]
  var rawItems: CFArray?
  let status = SecPKCS12Import(data as CFData, options as CFDictionary, &rawItems)
  guard status == errSecSuccess, let items = rawItems as? [[String: Any]], let first = items.first else { return nil }
  guard let identity = first[kSecImportItemIdentity as String] as? SecIdentity,
    let chain = first[kSecImportItemCertChain as String] as? [SecCertificate]
  else { return nil }
  var certificate: SecCertificate?
  guard SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess, certificate != nil else { return nil }
  return (identity, chain)
}

typealias NSDictionaryLike = [String: Any]

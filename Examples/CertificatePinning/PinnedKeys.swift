import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#else
import Security
#endif

/// Lets a host in when the system trusts it and its certificate, or one above, has a key that is known.
///
/// Keys outlive certificates: a server that renews its certificate with the same key stays known. Pin a second key that
/// the server does not use yet, so that it can change.
final class PinnedKeys: NSObject, URLSessionDelegate {
  private let pins: [String: [Data]]

  /// - Parameter pins: for each host the keys that it may have. Hosts without an entry are judged by the system alone.
  init(pins: [String: [Data]]) { self.pins = pins }

  /// The key in a PEM file with one certificate. (Apps have theirs in DER in their bundle.)
  static func key(inFile path: String) -> Data? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    return Data(base64Encoded: base64).flatMap { SecCertificateCreateWithData(nil, $0 as CFData) }.flatMap(key)
  }

  private static func key(of certificate: SecCertificate) -> Data? {
    SecCertificateCopyKey(certificate).flatMap { SecKeyCopyExternalRepresentation($0, nil) as Data? }
  }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust,
      let expected = pins[space.host]
    else { return completionHandler(.performDefaultHandling, nil) }

    // First everything that is checked without pins: signatures, dates, the host's name.
    guard SecTrustEvaluateWithError(trust, nil) else {
      print("\(space.host): not trusted by the system")
      return completionHandler(.cancelAuthenticationChallenge, nil)
    }
    let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
    if chain.compactMap(Self.key).contains(where: expected.contains) {
      print("\(space.host): the key is known")
      completionHandler(.useCredential, URLCredential(trust: trust))
    } else {
      print("\(space.host): trusted by the system, but none of its \(chain.count) keys is known")
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }
}

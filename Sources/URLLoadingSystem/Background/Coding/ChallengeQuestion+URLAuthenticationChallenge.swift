import Foundation
import HTTPTransport
import TransferProtocol

extension ChallengeQuestion {
  /// A challenge as a message, without the session and the number. Passwords are left out.
  package init(_ challenge: URLAuthenticationChallenge) {
    self.init(
      session: "", taskIdentifier: 0, number: 0, space: ProtectionSpaceDescription(challenge.protectionSpace),
      previousFailureCount: challenge.previousFailureCount,
      response: (challenge.failureResponse as? HTTPURLResponse).map { ResponseSummary($0) },
      proposedUser: challenge.proposedCredential?.user, hasProposedPassword: challenge.proposedCredential?.hasPassword)
  }

  /// The challenge as the delegate sees it.
  ///
  /// - Parameters:
  ///   - credential: The one to propose.
  ///   - roots: The authorities that the server's certificates are judged by.
  func challenge(
    proposing credential: URLCredential?, roots: TransportConfiguration.TrustRoots
  ) -> URLAuthenticationChallenge {
    URLAuthenticationChallenge(
      protectionSpace: space.protectionSpace(roots: roots), proposedCredential: credential,
      previousFailureCount: previousFailureCount, failureResponse: response?.urlResponse)
  }

  /// Whether a challenge of this method is about a TLS connection, and not about a request.
  package static func isAboutConnection(_ method: String) -> Bool {
    [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate].contains(method)
  }
}

extension ProtectionSpaceDescription {
  package init(_ space: URLProtectionSpace) {
    self.init(host: space.host, port: space.port, authenticationMethod: space.authenticationMethod)
    scheme = space.protocol
    proxyType = space.proxyType
    realm = space.realm
    distinguishedNames = space.distinguishedNames
    certificates = space.serverTrust?.certificates.map(\.derBytes)
  }

  func protectionSpace(roots: TransportConfiguration.TrustRoots) -> URLProtectionSpace {
    guard proxyType == nil else {
      return URLProtectionSpace(
        proxyHost: host, port: port, type: proxyType, realm: realm, authenticationMethod: authenticationMethod)
    }
    let trust = certificates.map { certificates in
      SecTrust(certificates: certificates.map { SecCertificate(derBytes: $0) }, host: host, roots: roots)
    }
    return URLProtectionSpace(
      host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: authenticationMethod,
      distinguishedNames: distinguishedNames, serverTrust: trust)
  }
}

extension ChallengeAnswered.Disposition {
  init(_ answer: ChallengeAnswer) {
    switch answer.disposition {
    case .performDefaultHandling: self = .performDefaultHandling
    case .cancelAuthenticationChallenge: self = .cancelAuthenticationChallenge
    case .rejectProtectionSpace: self = .rejectProtectionSpace
    case .useCredential: self = .useCredential(answer.credential.flatMap { ChallengeAnswered.Credential($0) })
    }
  }
}

extension ChallengeAnswered.Credential {
  package init?(_ credential: URLCredential) {
    switch credential.kind {
    case .password(let user, let password):
      self = .password(user: user, password: password?.text(), persistence: credential.persistence.rawValue)
    case .trust: self = .trust
    case .certificate(let identity, let chain):
      self = .certificate(
        chain: [identity.certificate.derBytes] + chain.map(\.derBytes), privateKey: identity.privateKeyDERBytes)
    }
  }

  /// The client certificate of an answer; nil for other answers.
  package var clientCertificate: URLCredential? {
    guard case .certificate(let chain, let key) = self, let first = chain.first else { return nil }
    let identity = SecIdentity(certificate: SecCertificate(derBytes: first), privateKeyDERBytes: key)
    return URLCredential(
      identity: identity, certificates: chain.dropFirst().map { SecCertificate(derBytes: $0) }, persistence: .none)
  }
}

import Foundation
import HTTPSemantics
import HTTPTransport
import SystemServices

/// The peer of a load that asks for a credential: the server, or the proxy on the way to it.
struct ChallengingPeer {
  /// Its key among the peers of the session.
  let id: AuthenticationPeer
  /// The name for Kerberos and NTLM.
  let host: String
  /// The credential of the URL, or of the proxy's settings.
  let ownCredential: URLCredential?
  /// Whether a redirect has named that credential, and not the app: it answers the request that was led there, and no
  /// later one.
  let isNamedByRedirect: Bool
  /// The URL whose folder a challenge covers; nil for proxies, which are one space each.
  let url: URIReference?
  /// Of the connection over which the peer asked; nil without TLS, and for proxies.
  let certificate: ServerCertificate?
  /// For proxies: one of the `NSURLProtectionSpace…Proxy` constants.
  private let proxyType: String?

  /// The server of a request.
  ///
  /// - Parameter first: The URL from which redirects led to this one; nil without any.
  init(_ target: HTTPTarget, for url: URL?, ledFrom first: URL?, over certificate: ServerCertificate?) {
    id = AuthenticationPeer(target)
    host = target.key.host
    let named = target.namesUser ? URLCredential(in: url) : nil
    ownCredential = named
    isNamedByRedirect = first.map { !ChallengingPeer.isOwnWord(of: $0, url, named) } ?? false
    // A socket is one server, whose folders are those of the requests to it.
    let isSocket = target.key.socketPath != nil
    self.url = URIReference(isSocket ? "http://localhost" + target.requestTarget : url?.absoluteString ?? "")
    self.certificate = certificate
    proxyType = nil
  }

  init(_ proxy: ProxyServer, type: String) {
    id = AuthenticationPeer(proxy)
    host = proxy.host
    ownCredential = proxy.credential.map {
      URLCredential(
        user: $0.username, secret: $0.secret.withBytes { SecretBytes(copying: $0) }, persistence: .forSession)
    }
    isNamedByRedirect = false
    url = nil
    certificate = nil
    proxyType = type
  }

  /// Whether the first URL names the same user of the same server: a redirect to a path takes that along.
  private static func isOwnWord(of first: URL, _ url: URL?, _ credential: URLCredential?) -> Bool {
    guard let url, let credential, let named = URLCredential(in: first) else { return false }
    let origin = HTTPOrigin(URIReference(first.absoluteString))
    return named.isSameUser(as: credential) && credential.isSameUser(as: named) && origin != nil
      && origin == HTTPOrigin(URIReference(url.absoluteString))
  }

  /// SOCKS asks for a user name and a password, without a challenge.
  static let offerOfSOCKS = AuthenticationOffer.basic(BasicChallenge(realm: nil))

  private var isSOCKS: Bool { proxyType == NSURLProtectionSpaceSOCKSProxy }

  func space(of offer: AuthenticationOffer) -> URLProtectionSpace {
    let method = offer.scheme.method
    let realm = offer.realm
    guard let proxyType else {
      return URLProtectionSpace(
        host: host, port: id.origin.port,
        protocol: id.origin.scheme == "https" ? NSURLProtectionSpaceHTTPS : NSURLProtectionSpaceHTTP, realm: realm,
        authenticationMethod: method)
    }
    return URLProtectionSpace(
      proxyHost: host, port: id.origin.port, type: proxyType, realm: realm, authenticationMethod: method)
  }

  /// nil where the credential can't answer the offer.
  func proof(_ offer: AuthenticationOffer, _ credential: URLCredential) -> (any AuthenticationProof)? {
    if isSOCKS { return SOCKSProof() }
    switch offer {
    case .basic(let challenge):
      guard let scope = scope(AuthenticationScope.init(basicChallengeAt:)) else { return nil }
      return BasicProof(credential, for: challenge, scope: scope)
    case .digest(let challenge):
      guard let scope = scope({ AuthenticationScope(challenge, at: $0) }) else { return nil }
      return DigestProof(credential, for: challenge, scope: scope)
    case .bearer:
      guard let scope = scope(AuthenticationScope.init(basicChallengeAt:)) else { return nil }
      return BearerProof(credential, scope: scope)
    case .ntlm: return NTLMProof(credential, host: host)
    case .negotiate: return NegotiateProof(credential, host: host)
    }
  }

  /// nil where the challenge covers no URL; nil inside for a proxy, whose space is all that it serves.
  private func scope(_ make: (URIReference) -> AuthenticationScope?) -> AuthenticationScope?? {
    guard let url else { return .some(nil) }
    return make(url).map { .some($0) }
  }

  /// Whether a credential that the session knows may be used where the URL names a user.
  func admits(_ credential: URLCredential) -> Bool { ownCredential.map { $0.isSameUser(as: credential) } ?? true }
}

extension AuthenticationPeer {
  init(_ target: HTTPTarget) {
    let key = target.key
    self.init(
      origin: HTTPOrigin(knownScheme: key.scheme == .https ? "https" : "http", host: key.host, port: key.port))
  }

  init(_ proxy: ProxyServer) {
    self.init(origin: HTTPOrigin(knownScheme: proxy.kind.rawValue, host: proxy.host, port: proxy.port), isProxy: true)
  }
}

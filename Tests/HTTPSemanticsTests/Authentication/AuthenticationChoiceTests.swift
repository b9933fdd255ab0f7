import HTTPSemantics
import Testing

@Suite struct AuthenticationChoiceTests {
  /// The offers as short text: the scheme, and what tells challenges of the same scheme apart.
  private static func names(_ offers: [AuthenticationOffer]) -> [String] {
    offers.map { offer in
      switch offer {
      case .digest(let challenge): "digest \(challenge.nonce)"
      case .negotiate(let token), .ntlm(let token):
        offer.scheme.rawValue + (token.map { " " + String(decoding: $0, as: UTF8.self) } ?? "")
      default: "\(offer.scheme) \(offer.realm ?? "-")"
      }
    }
  }

  @Test(
    arguments: [
      (
        "Bearer realm=e, Basic realm=d, Digest nonce=c, NTLM, Negotiate",
        ["negotiate", "ntlm", "digest c", "basic d", "bearer e"]
      ),
      ("Basic realm=a, Basic realm=b", ["basic a", "basic b"]), ("Basic", ["basic -"]),
      ("Basic realm=", ["basic -"]), ("Basic realm=\"\"", ["basic "]),
      // RFC 7616 §3.7: the strongest algorithm; then as the server has them.
      (
        "Digest nonce=1, Digest nonce=2, algorithm=SHA-256, Digest nonce=3, algorithm=MD5, "
          + "Digest nonce=4, algorithm=SHA-512-256, Digest nonce=5, algorithm=SHA-256-sess",
        ["digest 4", "digest 2", "digest 5", "digest 1", "digest 3"]
      ),
      ("Digest realm=a, Basic realm=b", ["basic b"]), ("Digest nonce=n, algorithm=X, Basic", ["basic -"]),
      ("Negotiate YQ==, NTLM Yg==", ["negotiate a", "ntlm b"]), ("Negotiate a, NTLM ., Basic", ["basic -"]),
      ("Hoba realm=a, Basics realm=b", []), ("", []),
    ])
  func challengesAreRanked(value: String, offers: [String]) {
    #expect(Self.names(AuthenticationChoice.offers(in: AuthenticationChallenge.parse([value]))) == offers)
  }

  /// RFC 4559 §6: connections are authenticated through a proxy that says that it keeps them apart.
  @Test(
    arguments: [
      (nil, ["digest c", "basic d", "bearer e"]), ("", ["digest c", "basic d", "bearer e"]),
      ("Session-Based", ["digest c", "basic d", "bearer e"]),
      ("Session-Based-Authentication", ["negotiate", "ntlm", "digest c", "basic d", "bearer e"]),
      ("x, session-based-authentication", ["negotiate", "ntlm", "digest c", "basic d", "bearer e"]),
    ] as [(String?, [String])])
  func proxyHasToKeepConnectionsApart(support: String?, offers: [String]) {
    let challenges = AuthenticationChallenge.parse(["Bearer realm=e, Basic realm=d, Digest nonce=c, NTLM, Negotiate"])
    var fields = HTTPFields()
    if let support { fields.append("Proxy-Support", support) }
    #expect(Self.names(AuthenticationChoice.offers(in: challenges, throughProxy: fields)) == offers)
  }
}

import HTTPSemantics
import Testing

@Suite struct SchemeHistoryTests {
  private static let origin = HTTPOrigin(knownScheme: "http", host: "proxy.example", port: 8080)
  private static let proxy = AuthenticationPeer(origin: origin, isProxy: true)

  private static func offers(_ value: String) -> [AuthenticationOffer] {
    AuthenticationChoice.offers(in: AuthenticationChallenge.parse([value]))
  }

  /// Whether a credential that belongs to no space answers the last of these values without the app being asked.
  @Test(
    arguments: [
      (["Basic realm=a"], true), (["Basic", "Basic"], true), (["Basic", "Digest nonce=n"], true),
      // The attack: the stronger scheme is taken away.
      (["Digest nonce=n", "Basic realm=a"], false), (["Digest nonce=n", "Basic realm=a", "Basic realm=a"], false),
      (["Negotiate", "NTLM"], false), (["Negotiate, NTLM, Digest nonce=n", "Basic"], false),
      // Weaker, but offered beside the stronger one before.
      (["Digest nonce=n, Basic realm=a", "Basic realm=a"], true), (["Negotiate, Basic", "Digest nonce=n"], true),
      (["Basic", "Digest nonce=n", "Basic"], true), (["Bearer", "Basic"], true), (["Digest nonce=n", "Bearer"], true),
      // A weaker hash function, in any realm, also where it is offered beside the stronger one.
      (["Digest nonce=n", "Digest nonce=n"], true), (["Digest nonce=n, algorithm=SHA-256", "Digest nonce=n"], false),
      (["Digest nonce=n, realm=a, algorithm=SHA-512-256-sess", "Digest nonce=n, realm=b, algorithm=MD5-sess"], false),
      (["Digest nonce=n, algorithm=SHA-512-256", "Digest nonce=n, algorithm=SHA-256"], true),
      (["Digest nonce=n", "Digest nonce=n, algorithm=SHA-256"], true),
    ] as [([String], Bool)])
  func weakerSchemeThanBeforeIsAskedFor(values: [String], maySend: Bool) throws {
    var history = SchemeHistory()
    for value in values { history.note(Self.offers(value), from: Self.proxy) }
    let last = try #require(Self.offers(values.last ?? "").first)
    #expect(history.mayAnswer(last, of: Self.proxy) == maySend)
  }

  @Test func appCanApproveTheWeakerScheme() throws {
    var history = SchemeHistory()
    history.note(Self.offers("Digest nonce=n"), from: Self.proxy)
    let basic = try #require(Self.offers("Basic").first)
    history.approve(basic, of: Self.proxy)
    #expect(history.mayAnswer(basic, of: Self.proxy))
  }

  /// A stored credential is one realm's: what the peer asks for in another one does not matter.
  @Test(arguments: [("a", false), ("b", true)]) func weakerHashInTheSameSpaceIsAskedFor(realm: String, maySend: Bool)
    throws
  {
    var history = SchemeHistory()
    history.note(Self.offers("Digest nonce=n, realm=a, algorithm=SHA-256"), from: Self.proxy)
    let weak = try #require(Self.offers("Digest nonce=n, realm=\(realm)").first)
    history.note([weak], from: Self.proxy)
    #expect(history.mayAnswerInSpace(weak, of: Self.proxy) == maySend)
    history.approve(weak, of: Self.proxy)
    #expect(history.mayAnswerInSpace(weak, of: Self.proxy))
  }

  /// A peer that names many realms does not have the rest forgotten.
  @Test func realmsBeyondTheLimitCountAsWell() throws {
    var history = SchemeHistory()
    for number in 0..<100 {
      history.note(Self.offers("Digest nonce=n, realm=r\(number), algorithm=SHA-256"), from: Self.proxy)
    }
    for number in [0, 31, 32, 99] {
      let weak = try #require(Self.offers("Digest nonce=n, realm=r\(number)").first)
      #expect(!history.mayAnswerInSpace(weak, of: Self.proxy), "r\(number)")
    }
  }

  @Test func peersAreToldApart() throws {
    var history = SchemeHistory()
    history.note(Self.offers("Digest nonce=n"), from: Self.proxy)
    let basic = try #require(Self.offers("Basic").first)
    #expect(history.mayAnswer(basic, of: AuthenticationPeer(origin: Self.origin)))
    history.note([], from: Self.proxy)
    #expect(!history.mayAnswer(basic, of: Self.proxy))
  }

  @Test func numberOfPeersIsLimited() throws {
    var history = SchemeHistory()
    let peers = (0..<1_100).map {
      AuthenticationPeer(origin: HTTPOrigin(knownScheme: "http", host: "h\($0)", port: 80))
    }
    for peer in peers { history.note(Self.offers("Digest nonce=n"), from: peer) }
    let basic = try #require(Self.offers("Basic").first)
    let remembered = peers.filter { !history.mayAnswer(basic, of: $0) }
    #expect(remembered == Array(peers.suffix(1_000)))
  }
}

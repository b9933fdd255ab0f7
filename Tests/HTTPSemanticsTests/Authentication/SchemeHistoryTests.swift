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

  // MARK: More peers than are told apart

  private static func peers(_ numbers: Range<Int>) -> [AuthenticationPeer] {
    numbers.map { AuthenticationPeer(origin: HTTPOrigin(knownScheme: "http", host: "h\($0)", port: 80)) }
  }

  /// A client that is led to a thousand other servers knows the first one all the same.
  @Test func noPeerIsForgottenForOthers() throws {
    var history = SchemeHistory()
    let basic = try #require(Self.offers("Basic").first)
    let peers = Self.peers(0..<2_100)
    for peer in peers { history.note(Self.offers("Digest nonce=n"), from: peer) }
    #expect(peers.allSatisfy { !history.mayAnswer(basic, of: $0) })
    // Those that there is no room for count as one of them, and so does one that was never seen.
    let stranger = try #require(Self.peers(9_999..<10_000).first)
    #expect(!history.mayAnswer(basic, of: stranger))
    let digest = try #require(Self.offers("Digest nonce=n").first)
    #expect(history.mayAnswer(digest, of: stranger) && history.mayAnswer(digest, of: peers[2_000]))
    history.note(Self.offers("Negotiate, Basic"), from: stranger)
    #expect(!history.mayAnswer(digest, of: stranger) && history.mayAnswer(digest, of: peers[0]))
    // The app is asked each time.
    history.approve(basic, of: stranger)
    #expect(!history.mayAnswer(basic, of: stranger))
    history.approve(basic, of: peers[0])
    #expect(history.mayAnswer(basic, of: peers[0]))
  }

  @Test func weakerHashOfAPeerBeyondTheLimitIsAskedFor() throws {
    var history = SchemeHistory()
    for peer in Self.peers(0..<1_000) { history.note(Self.offers("Digest nonce=n, realm=a"), from: peer) }
    let weak = try #require(Self.offers("Digest nonce=n, realm=a").first)
    let (known, late) = (Self.peers(0..<1)[0], Self.peers(5_000..<5_001)[0])
    history.note(Self.offers("Digest nonce=n, realm=a, algorithm=SHA-256"), from: late)
    #expect(!history.mayAnswer(weak, of: late) && !history.mayAnswerInSpace(weak, of: late))
    #expect(history.mayAnswer(weak, of: known) && history.mayAnswerInSpace(weak, of: known))
  }

  /// A peer that asked for Basic alone is as good as a stranger: it gives its room to one that asks for more.
  @Test func peersOfBasicGiveWay() throws {
    var history = SchemeHistory()
    let basic = try #require(Self.offers("Basic").first)
    let weak = Self.peers(0..<1_000)
    for peer in weak { history.note(Self.offers("Basic"), from: peer) }
    history.note(Self.offers("Digest nonce=n"), from: Self.proxy)
    #expect(!history.mayAnswer(basic, of: Self.proxy))
    #expect(weak.allSatisfy { history.mayAnswer(basic, of: $0) })
    // The oldest is not known any more: Digest is the first that it is seen to ask for.
    for peer in [weak[0], weak[999]] { history.note(Self.offers("Digest nonce=n"), from: peer) }
    #expect(!history.mayAnswer(basic, of: weak[0]) && history.mayAnswer(basic, of: weak[999]))
  }
}

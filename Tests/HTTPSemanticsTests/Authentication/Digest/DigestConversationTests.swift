import HTTPSemantics
import Testing

@Suite struct DigestConversationTests {
  private static func conversation(
    _ challenge: String, _ username: String, _ password: String
  ) throws -> DigestConversation {
    try #require(
      DigestConversation(
        answering: DigestChallengeTests.challenge(challenge), username: username, password: password))
  }

  /// The parameters of an authorization, read back.
  private static func parameters(_ authorization: DigestAuthorization?) throws -> FieldParameters {
    let value = try #require(authorization).fieldValue
    return try #require(AuthenticationChallenge.parse([value]).first).parameters
  }

  private static let rfc7616 =
    "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\", algorithm="
  private static let rfc7616ClientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

  /// RFC 7616 §3.9.1.
  @Test(
    arguments: [
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
      ("SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
    ])
  func exampleWithTwoAlgorithmsIsAnswered(algorithm: String, response: String) throws {
    var conversation = try Self.conversation(Self.rfc7616 + algorithm, "Mufasa", "Circle of Life")
    let authorization = conversation.authorization(
      method: "GET", target: "/dir/index.html", clientNonce: Self.rfc7616ClientNonce)
    #expect(
      authorization?.fieldValue == """
        Digest username="Mufasa", realm="http-auth@example.org", \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", algorithm=\(algorithm), qop=auth, \
        nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", response="\(response)", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """)
  }

  private static let rfc7616UserHash =
    "realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, charset=UTF-8, "
    + "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\""

  /// RFC 7616 §3.9.2, with the values of erratum 4897: those printed are of SHA-512 cut off.
  @Test(arguments: ["J\u{E4}s\u{F8}n Doe", "Ja\u{308}s\u{F8}n Doe"])
  func exampleWithUserHashIsAnswered(username: String) throws {
    var conversation = try Self.conversation(Self.rfc7616UserHash + ", userhash=true", username, "Secret, or not?")
    let parameters = try Self.parameters(
      conversation.authorization(
        method: "GET", target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"))
    #expect(parameters["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    #expect(parameters["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
    #expect(parameters["userhash"] == "true" && parameters["username*"] == nil)
  }

  @Test(
    arguments: [
      (", userhash=false", "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe,", "J\u{E4}s\u{F8}n Doe"),
      ("", "username=\"Doe\",", "Doe"), ("", "username=\"a\\\"b\\\\c\",", "a\"b\\c"), ("", "username=\"a:b\",", "a:b"),
      ("", "username=\"\",", ""), ("", "username*=UTF-8''%C3%BC%27%28%29%2A!%25,", "\u{FC}'()*!%"),
    ])
  func nameIsWrittenAsItsCharactersAllow(more: String, expected: String, username: String) throws {
    var conversation = try Self.conversation(Self.rfc7616UserHash + more, username, "p")
    let value = conversation.authorization(method: "GET", target: "/", clientNonce: "c")?.fieldValue
    #expect(value?.hasPrefix("Digest " + expected) == true)
    #expect(value?.contains("userhash") == false)
  }

  @Test func nameIsQuotedWhereNoCharsetIsAnnounced() throws {
    var conversation = try Self.conversation("nonce=n, qop=auth", "\u{FC}", "p")
    let value = conversation.authorization(method: "GET", target: "/", clientNonce: "c")?.fieldValue
    #expect(value?.hasPrefix("Digest username=\"\u{FC}\", ") == true)
  }

  private static let rfc2617 =
    "realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
    + "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\""

  /// RFC 2617 §3.5; RFC 2069 §2.4 with the password of its erratum 749; the same with other parameters.
  @Test(
    arguments: [
      (", qop=\"auth,auth-int\"", "Circle Of Life", "6629fae49393a05397450978507c4ef1"),
      (", qop=auth, algorithm=MD5-sess", "Circle Of Life", "8e3825c57e897f5a0dec6c2d4e5059d0"),
      (", qop=auth-int", "Circle Of Life", "5e6610ecf9ba3017a4870ad48e3ad30b"),
      (", qop=auth-int, algorithm=MD5-sess", "Circle Of Life", "0c9976da714ad8905eb2720abe326a63"),
      ("", "CircleOfLife", "1949323746fe6a43ef61f9606e7febea"),
      ("", "Circle Of Life", "670fd8c2df070c60b045671b8b24ff02"),
      (", algorithm=MD5-sess", "Circle Of Life", "4726bc10c33fa6cb357eb27807b1cce8"),
    ])
  func olderExamplesAreAnswered(more: String, password: String, response: String) throws {
    var conversation = try Self.conversation(Self.rfc2617 + more, "Mufasa", password)
    let parameters = try Self.parameters(
      conversation.authorization(method: "GET", target: "/dir/index.html", clientNonce: "0a4f113b"))
    #expect(parameters["response"] == response)
  }

  @Test func oldestFormHasNoCountAndNoAlgorithm() throws {
    var conversation = try Self.conversation(Self.rfc2617, "Mufasa", "CircleOfLife")
    let parameters = try Self.parameters(
      conversation.authorization(method: "GET", target: "/dir/index.html", clientNonce: "0a4f113b"))
    #expect(parameters.all.map(\.name) == ["username", "realm", "nonce", "uri", "response", "opaque"])
  }

  /// Without one of the two the server could not compute A1.
  @Test func sessionOfTheOldestFormNamesItsClientNonce() throws {
    var conversation = try Self.conversation(Self.rfc2617 + ", algorithm=MD5-sess", "Mufasa", "CircleOfLife")
    let parameters = try Self.parameters(
      conversation.authorization(method: "GET", target: "/", clientNonce: "0a4f113b"))
    #expect(parameters["cnonce"] == "0a4f113b" && parameters["nc"] == nil)
  }

  @Test func bodyIsCoveredWhereTheServerDemandsIt() throws {
    let challenge = Self.rfc7616.replacing("auth, auth-int", with: "auth-int")
    var conversation = try Self.conversation(challenge + "SHA-256", "Mufasa", "Circle of Life")
    #expect(conversation.needsBodyHash)
    let parameters = try Self.parameters(
      conversation.authorization(
        method: "POST", target: "/dir/index.html", clientNonce: Self.rfc7616ClientNonce,
        bodyHash: DigestHash.sha256.hex(Array("hello".utf8))))
    #expect(parameters["qop"] == "auth-int")
    #expect(parameters["response"] == "c98b95dbdb463c4483e324bced57d591946a6f84098142757b1333c52c47d62e")
    #expect(try !Self.conversation(Self.rfc7616 + "MD5", "", "").needsBodyHash)
  }

  @Test func usesOfANonceAreCounted() throws {
    var conversation = try Self.conversation("nonce=n, qop=auth", "u", "p")
    for count in ["00000001", "00000002", "00000003"] {
      let parameters = try Self.parameters(
        conversation.authorization(method: "GET", target: "/", clientNonce: "c" + count))
      #expect(parameters["nc"] == count && parameters["nonce"] == "n")
    }
    conversation.note(AuthenticationInformation(["Authentication-Info": "nextnonce=\"m\""]))
    let next = try Self.parameters(conversation.authorization(method: "GET", target: "/", clientNonce: "c"))
    #expect(next["nc"] == "00000001" && next["nonce"] == "m")
    // Two requests that ran at the same time were told the same nonce.
    conversation.note(AuthenticationInformation(["Authentication-Info": "nextnonce=\"m\""]))
    let after = try Self.parameters(conversation.authorization(method: "GET", target: "/", clientNonce: "c"))
    #expect(after["nc"] == "00000002")
    conversation.note(nil)
    conversation.note(AuthenticationInformation(["Authentication-Info": "nextnonce=\"\""]))
    conversation.note(AuthenticationInformation(["Authentication-Info": "nextnonce=\"a\u{1}\""]))
    let last = try Self.parameters(conversation.authorization(method: "GET", target: "/", clientNonce: "c"))
    #expect(last["nonce"] == "m" && last["nc"] == "00000003")
  }

  /// RFC 7616 §3.4.2: A1 stays that of the first nonce and the first client nonce.
  @Test func sessionOutlivesItsFirstNonce() throws {
    var conversation = try Self.conversation(Self.rfc7616 + "SHA-256-sess", "Mufasa", "Circle of Life")
    _ = conversation.authorization(method: "GET", target: "/a", clientNonce: Self.rfc7616ClientNonce)
    conversation.note(AuthenticationInformation(["Authentication-Info": "nextnonce=next"]))
    let parameters = try Self.parameters(
      conversation.authorization(method: "GET", target: "/b", clientNonce: "second"))
    #expect(parameters["response"] == "dc4bcedcfdcdb9768e529d9816afc7ef9bc8ffbcc934c25e8b56802bb1240ee0")
  }

  @Test func staleNonceIsReplacedWithTheSameCredential() throws {
    var conversation = try Self.conversation(Self.rfc7616 + "SHA-256-sess", "Mufasa", "Circle of Life")
    let first = conversation.authorization(method: "GET", target: "/", clientNonce: "c")
    let renewed = Self.rfc7616.replacing("7ypf", with: "new") + "SHA-256-sess, stale=true"
    let stale = try DigestChallengeTests.challenge(renewed)
    #expect(try DigestConversation.isRenewal(stale, of: #require(first), renewals: 0))
    let isRenewed = conversation.renew(with: stale)
    #expect(isRenewed)
    var fresh = try Self.conversation(renewed, "Mufasa", "Circle of Life")
    let second = conversation.authorization(method: "GET", target: "/", clientNonce: "d")
    let expected = fresh.authorization(method: "GET", target: "/", clientNonce: "d")
    #expect(second?.fieldValue == expected?.fieldValue)
  }

  /// Two requests at once are told the same new nonce: no count is used twice with it (RFC 7616 §3.4).
  @Test(arguments: ["MD5", "SHA-256-sess"]) func renewalsWithOneNonceShareItsCount(algorithm: String) throws {
    var conversation = try Self.conversation("nonce=n, qop=auth, algorithm=\(algorithm)", "u", "p")
    for _ in 0..<2 { _ = conversation.authorization(method: "GET", target: "/", clientNonce: "c") }
    let stale = try DigestChallengeTests.challenge("nonce=m, qop=auth, stale=true, algorithm=\(algorithm)")
    var sent: [DigestAuthorization?] = []
    for clientNonce in ["d", "e"] {
      let isRenewed = conversation.renew(with: stale)
      #expect(isRenewed)
      sent.append(conversation.authorization(method: "GET", target: "/", clientNonce: clientNonce))
    }
    #expect(try sent.map { try Self.parameters($0)["nc"] } == ["00000001", "00000002"])
    // The session key of a `-sess` algorithm is that of the first of them.
    var expected = try Self.conversation("nonce=m, qop=auth, algorithm=\(algorithm)", "u", "p")
    let first = expected.authorization(method: "GET", target: "/", clientNonce: "d")
    let second = expected.authorization(method: "GET", target: "/", clientNonce: "e")
    #expect(sent.map { $0?.fieldValue } == [first?.fieldValue, second?.fieldValue])
  }

  @Test func refusalIsNoRenewal() throws {
    var conversation = try Self.conversation("nonce=n, qop=auth", "u", "p")
    let sent = conversation.authorization(method: "GET", target: "/", clientNonce: "c")
    let authorization = try #require(sent)
    func isRenewal(_ challenge: String, _ renewals: Int) throws -> Bool {
      try DigestConversation.isRenewal(
        DigestChallengeTests.challenge(challenge), of: authorization, renewals: renewals)
    }
    #expect(try isRenewal("nonce=m, stale=true", 0))
    #expect(try !isRenewal("nonce=m", 0) && !isRenewal("nonce=m, stale=false", 0))
    // A server that calls every nonce stale would be asked without end.
    #expect(try !isRenewal("nonce=n, stale=true", 0))
    #expect(try !isRenewal("nonce=m, stale=true", DigestConversation.renewalLimit))
  }

  @Test(
    arguments: [
      "realm=b, nonce=m", "realm=a, nonce=m, algorithm=SHA-256", "realm=a, nonce=m, userhash=true",
      "realm=a, nonce=m, charset=UTF-8",
    ])
  func otherChallengeNeedsThePassword(challenge: String) throws {
    var conversation = try Self.conversation("realm=a, nonce=n", "u", "p")
    let isRenewed = try conversation.renew(with: DigestChallengeTests.challenge(challenge))
    #expect(!isRenewed)
    #expect(conversation.challenge.nonce == "n")
  }

  @Test func unsendableArgumentsAreRefused() throws {
    let challenge = try DigestChallengeTests.challenge("nonce=n")
    #expect(DigestConversation(answering: challenge, username: "a\r\nb", password: "") == nil)
    var conversation = try #require(DigestConversation(answering: challenge, username: "a", password: "\n"))
    for (target, clientNonce) in [("/ HTTP/1.1", "c"), ("", "c"), ("/", "c\n")] {
      let authorization = conversation.authorization(method: "GET", target: target, clientNonce: clientNonce)
      #expect(authorization == nil)
    }
  }

  @Test(arguments: ["/a?b=\"c\"", "http://example.com/a", "example.com:443", "*"])
  func targetIsSentAsItIs(target: String) throws {
    var conversation = try Self.conversation("nonce=n, qop=auth", "u", "p")
    let authorization = conversation.authorization(method: "CONNECT", target: target, clientNonce: "c")
    #expect(try Self.parameters(authorization)["uri"] == target)
  }

  @Test func randomBytesBecomeAClientNonce() {
    #expect(DigestConversation.clientNonce([0, 255, 16]) == "00ff10")
  }
}

import HTTPSemantics
import Testing

/// RFC 7616 §3.3.
@Suite struct DigestChallengeTests {
  static func challenge(_ parameters: String) throws -> DigestChallenge {
    try DigestChallenge(#require(AuthenticationChallenge.parse(["Digest " + parameters]).first))
  }

  @Test func everyParameterIsRead() throws {
    let challenge = try Self.challenge(
      """
      realm="a \\"b\\"", nonce="n", opaque="o", algorithm=sha-512-256-SESS, qop="auth-int, AUTH", stale=TRUE, \
      userhash=true, charset=UTF-8, domain="/a https://example.com/b"
      """)
    #expect(challenge.realm == "a \"b\"" && challenge.nonce == "n" && challenge.opaque == "o")
    #expect(challenge.algorithm == DigestAlgorithm(hash: .sha512_256, isSession: true))
    #expect(challenge.quality == .authentication && challenge.isStale && challenge.wantsUserHash)
    #expect(challenge.announcesUTF8 && challenge.domain == ["/a", "https://example.com/b"])
  }

  @Test func nonceAloneMeansTheOldestForm() throws {
    let challenge = try Self.challenge("nonce=n")
    #expect(challenge.realm == nil && challenge.opaque == nil && challenge.quality == nil)
    #expect(challenge.algorithm == DigestAlgorithm(hash: .md5) && challenge.domain.isEmpty)
    #expect(!challenge.isStale && !challenge.wantsUserHash && !challenge.announcesUTF8)
  }

  @Test(
    arguments: [
      ("MD5", .md5, false), ("md5", .md5, false), ("MD5-sess", .md5, true), ("SHA-256", .sha256, false),
      ("SHA-256-Sess", .sha256, true), ("SHA-512-256", .sha512_256, false), ("\"SHA-256\"", .sha256, false),
    ] as [(String, DigestHash, Bool)])
  func algorithmIsKnownInAnyCase(name: String, hash: DigestHash, isSession: Bool) throws {
    let challenge = try Self.challenge("nonce=n, algorithm=\(name)")
    #expect(challenge.algorithm == DigestAlgorithm(hash: hash, isSession: isSession))
  }

  @Test(
    arguments: [
      ("auth", .authentication), ("auth-int", .integrity), ("auth-int,auth", .authentication),
      ("auth-conf, auth-int", .integrity), ("auth,\u{301}", .authentication), (" , ", nil), ("", nil),
    ] as [(String, DigestQuality?)])
  func qualityPrefersAuthentication(list: String, quality: DigestQuality?) throws {
    #expect(try Self.challenge("nonce=n, qop=\"\(list)\"").quality == quality)
  }

  @Test(
    arguments: [
      ("realm=a", .missingNonce), ("nonce=\"\"", .missingNonce), ("nonce=n, algorithm=SHA-3", .unsupportedAlgorithm),
      ("nonce=n, algorithm=\"\"", .unsupportedAlgorithm), ("nonce=n, algorithm=\"MD5\\\"\"", .unsupportedAlgorithm),
      ("nonce=n, algorithm=SHA-512", .unsupportedAlgorithm), ("nonce=n, qop=auth-conf", .unsupportedQuality),
      ("nonce=\"a\\\nb\"", .unsendableValue), ("nonce=a, opaque=\"\u{1}\"", .unsendableValue),
      ("nonce=a, realm=\"\u{7F}\"", .unsendableValue),
    ] as [(String, DigestChallenge.Refusal)])
  func challengeThatCannotBeAnsweredIsRefused(parameters: String, refusal: DigestChallenge.Refusal) {
    #expect(throws: refusal) { try Self.challenge(parameters) }
  }

  @Test func challengeOfAnotherSchemeIsRefused() {
    #expect(throws: DigestChallenge.Refusal.notDigest) {
      try DigestChallenge(AuthenticationChallenge(scheme: "basic"))
    }
  }
}

import HTTPSemantics
import Testing

/// RFC 7616 §3.5.
@Suite struct DigestAuthorizationTests {
  private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
  private static let proof = "86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0"
  private static let proofWithBody = "321792e3b6d15d49cb353cdc72f9cb50758a6673121eaeac0d7c912dae40bc19"

  private static func authorization(_ more: String = ", qop=\"auth\"") throws -> DigestAuthorization {
    let challenge = try DigestChallengeTests.challenge(
      "realm=\"http-auth@example.org\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", algorithm=SHA-256"
        + more)
    var conversation = try #require(
      DigestConversation(answering: challenge, username: "Mufasa", password: "Circle of Life"))
    let authorization = conversation.authorization(
      method: "GET", target: "/dir/index.html", clientNonce: clientNonce)
    return try #require(authorization)
  }

  @Test(
    arguments: [
      ("rspauth=\"\(proof)\", cnonce=\"\(clientNonce)\", nc=00000001, qop=auth", .valid),
      ("qop=auth, rspauth=\"\(proof.uppercased())\"", .valid), ("rspauth=\"\(proof)\"", .valid),
      ("nextnonce=\"a\"", .absent), ("", .absent), ("rspauth=\"\"", .invalid),
      ("rspauth=\"0\(proof.dropFirst())\", cnonce=\"\(clientNonce)\", nc=00000001, qop=auth", .invalid),
      ("rspauth=\"\(proof)\", cnonce=\"other\", nc=00000001, qop=auth", .invalid),
      ("rspauth=\"\(proof)\", cnonce=\"\(clientNonce)\", nc=00000002, qop=auth", .invalid),
      ("rspauth=\"\(proof)\", qop=auth-conf", .invalid), ("rspauth=\"\(proof)\", qop=auth-int", .needsBodyHash),
    ] as [(String, DigestVerdict)])
  func proofOfTheServerIsJudged(value: String, verdict: DigestVerdict) throws {
    let information = AuthenticationInformation(["Authentication-Info": value])
    #expect(try Self.authorization().verdict(on: information) == verdict)
  }

  @Test func proofCoversTheBody() throws {
    let authorization = try Self.authorization(", qop=auth-int")
    let information = AuthenticationInformation(["Authentication-Info": "rspauth=\(Self.proofWithBody), qop=auth-int"])
    let hello = DigestHash.sha256.hex(Array("hello".utf8))
    #expect(authorization.verdict(on: information) == .needsBodyHash)
    #expect(authorization.verdict(on: information, bodyHash: hello) == .valid)
    #expect(authorization.verdict(on: information, bodyHash: DigestHash.sha256.hex([])) == .invalid)
  }

  /// H(H(A1):nonce:nc:cnonce:auth-int:H(":" target ":" H(body))), computed with another implementation of the hashes.
  @Test(
    arguments: [
      ("MD5", "", "90784b078730942b2d8829a8635a46c5"), ("MD5", "hello", "6e17dd06bd52f02e910b2954c2041177"),
      ("SHA-256", "", "6555f7c47de0e490a2ce870b135ee006897a9badd6302e2907c138dc244ab17a"),
      ("SHA-256", "hello", proofWithBody),
      ("SHA-512-256", "", "cb4e3022c818eb8bac40a6738d141ee4cad5fb4d5d4eb9c0c3d1190513b65b1b"),
      ("SHA-512-256", "hello", "cb9915fe7dea64de50a6323484f9270a3b8504a390631a8d894d2000824460d3"),
      ("SHA-256-sess", "", "e0542942acf081666f74667a1b781d2fcedf5b2023f1d5cbda3a85d0269cc1e5"),
      ("SHA-256-sess", "hello", "d81d212f7fbcd43f84b468f597517c75a1d5eba3477e6b7fbc48d7b984236db7"),
    ])
  func proofCoversTheBodyWithEachAlgorithm(algorithm: String, body: String, proof: String) throws {
    let challenge = try DigestChallengeTests.challenge(
      "realm=\"http-auth@example.org\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
        + "algorithm=\(algorithm), qop=\"auth\"")
    var conversation = try #require(
      DigestConversation(answering: challenge, username: "Mufasa", password: "Circle of Life"))
    let made = conversation.authorization(method: "GET", target: "/dir/index.html", clientNonce: Self.clientNonce)
    let authorization = try #require(made)
    // The server covers the body, although the request's response does not.
    let information = AuthenticationInformation(["Authentication-Info": "rspauth=\(proof), qop=auth-int"])
    let hash = challenge.algorithm.hash
    #expect(authorization.verdict(on: information) == .needsBodyHash)
    #expect(authorization.verdict(on: information, bodyHash: hash.hex(Array(body.utf8))) == .valid)
    #expect(authorization.verdict(on: information, bodyHash: hash.hex(Array("other".utf8))) == .invalid)
  }

  @Test func responseWithoutTheFieldProvesNothing() throws {
    #expect(try Self.authorization().verdict(on: nil) == .absent)
  }

  /// A quality that the request did not have can't be in the response.
  @Test func oldestFormHasNoQuality() throws {
    let information = AuthenticationInformation(["Authentication-Info": "rspauth=\(Self.proof), qop=auth"])
    #expect(try Self.authorization("").verdict(on: information) == .invalid)
  }

  @Test func fieldOfTheProxyIsReadOnlyForTheProxy() {
    let fields: HTTPFields = [
      "Proxy-Authentication-Info": "nextnonce=p", "authentication-info": " , x, nextnonce=\"s\"",
    ]
    #expect(AuthenticationInformation(fields)?.nextNonce == "s")
    #expect(AuthenticationInformation(fields, fromProxy: true)?.nextNonce == "p")
    #expect(AuthenticationInformation([:]) == nil)
  }
}

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

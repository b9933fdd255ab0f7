import HTTPSemantics
import Testing

/// RFC 6750.
@Suite struct BearerTests {
  @Test(arguments: ["mF_9.B5f-4.1JqM", "a", "a==", "a~+/b="])
  func tokenIsSent(text: String) { #expect(BearerToken(text)?.fieldValue == "Bearer " + text) }

  @Test(arguments: ["", "=", "a b", "a=b", "a\r\nX: y", "\u{FC}", "a,b", "\"a\""])
  func textThatIsNoTokenIsRefused(text: String) { #expect(BearerToken(text) == nil) }

  private static func challenge(_ value: String) -> BearerChallenge? {
    AuthenticationChallenge.parse([value]).first.flatMap(BearerChallenge.init)
  }

  @Test func everyParameterIsRead() {
    let challenge = Self.challenge(
      """
      Bearer realm="example", error="insufficient_scope", error_description="No more", error_uri="https://a.example/", \
      scope="openid  profile urn:a"
      """)
    #expect(challenge?.realm == "example" && challenge?.error == .insufficientScope)
    #expect(challenge?.errorDescription == "No more" && challenge?.errorURI == "https://a.example/")
    #expect(challenge?.scope == ["openid", "profile", "urn:a"])
  }

  @Test(
    arguments: [
      ("Bearer", nil), ("Bearer error=invalid_token", .invalidToken),
      ("bearer error=\"invalid_request\"", .invalidRequest),
      ("Bearer error=x", .other("x")),
    ] as [(String, BearerChallenge.Fault?)])
  func errorIsRead(value: String, error: BearerChallenge.Fault?) {
    let challenge = Self.challenge(value)
    #expect(challenge != nil && challenge?.error == error && challenge?.realm == nil)
  }

  @Test func challengeOfAnotherSchemeIsNone() { #expect(Self.challenge("Basic realm=a") == nil) }
}

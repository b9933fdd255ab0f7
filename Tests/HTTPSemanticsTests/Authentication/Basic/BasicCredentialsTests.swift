import HTTPSemantics
import Testing

/// RFC 7617.
@Suite struct BasicCredentialsTests {
  @Test(
    arguments: [
      // RFC 7617 §2 and §2.1.
      ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123\u{A3}", "dGVzdDoxMjPCow=="),
      ("", "", "Og=="), ("a", "", "YTo="), ("", "b", "OmI="), ("a", "b:c", "YTpiOmM="),
      // Without an announced charset the text is sent as it was given.
      ("a", "u\u{308}", "YTp1zIg="),
    ])
  func credentialIsWritten(username: String, password: String, encoded: String) {
    #expect(BasicCredentials.fieldValue(username: username, password: password) == "Basic " + encoded)
  }

  @Test func announcedUTF8MeansNormalizationFormC() {
    let value = BasicCredentials.fieldValue(username: "a", password: "u\u{308}", announcesUTF8: true)
    #expect(value == "Basic YTrDvA==")
  }

  @Test(arguments: [("a:b", "c"), (":", ""), ("a\n", "b"), ("a", "b\r\nX: y"), ("a\u{0}", "b"), ("a", "\u{7F}")])
  func colonInNameAndControlsAreRefused(username: String, password: String) {
    #expect(BasicCredentials.fieldValue(username: username, password: password) == nil)
  }

  @Test(
    arguments: [
      ("Basic realm=\"a\"", "a", false), ("basic realm=a, charset=\"UTF-8\"", "a", true),
      ("Basic realm=a, CHARSET=utf-8", "a", true), ("Basic realm=a, charset=latin1", "a", false), ("Basic", nil, false),
      ("Basic realm=\"\"", "", false),
    ] as [(String, String?, Bool)])
  func challengeIsRead(value: String, realm: String?, announcesUTF8: Bool) {
    let challenge = AuthenticationChallenge.parse([value]).first.flatMap(BasicChallenge.init)
    #expect(challenge != nil && challenge?.realm == realm)
    #expect(challenge?.announcesUTF8 == announcesUTF8)
  }

  @Test func challengeOfAnotherSchemeIsNone() {
    #expect(BasicChallenge(AuthenticationChallenge(scheme: "digest")) == nil)
  }
}

import HTTPSemantics
import Testing

/// MS-NLMP §4.2.4: user `User`, domain `Domain`, password `Password`.
@Suite struct NTLMResponseTests {
  @Test func publishedResponsesAreComputed() {
    let target = HexBytes.read("02000c0044006f006d00610069006e00 01000c00530065007200760065007200 00000000")
    let response = NTLMResponse(
      identity: NTLMMessages.identity, serverChallenge: HexBytes.read("0123456789abcdef"),
      clientChallenge: Array(repeating: 0xAA, count: 8), time: Array(repeating: 0, count: 8), target: target)
    // §4.2.4.1.1, §4.2.4.2.2, §4.2.4.2.1, §4.2.4.1.2.
    #expect(NTLMMessages.identity.responseKey.hexText == "0c868a403bfd7a93a3001ef22ef02e3f")
    #expect(response.ntResponse.prefix(16).hexText == "68cd0ab851e51c96aabc927bebef6a1c")
    #expect(
      response.ntResponse.dropFirst(16).hexText
        == "01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000" + target.hexText + "00000000")
    #expect(response.lmResponse.hexText == "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
    #expect(response.sessionKey.hexText == "8de40ccadbc14a82f15cb0ad0de95ca3")
  }

  @Test(
    arguments: [
      ("Domain\\User", "Domain", "User"), ("User", "", "User"), ("user@example.com", "", "user@example.com"),
      ("D\\u@example.com", "D", "u@example.com"), ("\\User", "", "User"), ("D\\a\\b", "D", "a\\b"), ("D\\", "D", ""),
      ("D\\\u{301}u", "D", "\u{301}u"),
      ("", "", ""),
    ])
  func nameIsTakenApart(name: String, domain: String, user: String) {
    let identity = NTLMIdentity(name: name, password: "")
    #expect(identity.domain == domain && identity.user == user)
  }

  @Test(arguments: [("user", "USER"), ("\u{FC}", "\u{DC}"), ("a\u{DF}", "A\u{DF}"), ("\u{10428}", "\u{10428}")])
  func caseOfTheUserDoesNotMatter(name: String, capital: String) {
    #expect(
      NTLMIdentity(name: name, password: "p").responseKey == NTLMIdentity(name: capital, password: "p").responseKey)
  }

  @Test func caseOfDomainAndPasswordMatters() {
    let key = NTLMIdentity(name: "D\\u", password: "p").responseKey
    #expect(NTLMIdentity(name: "d\\u", password: "p").responseKey != key)
    #expect(NTLMIdentity(name: "D\\u", password: "P").responseKey != key)
  }

  /// The example that Microsoft gives for the hash of a binding.
  @Test func bindingIsHashed() {
    let hash = NTLMChannelBindings.hash(certificateHash: NTLMMessages.certificateHash)
    #expect(hash.hexText == "6586e99d81c2fc984e47172fd4dd0310")
    #expect(NTLMChannelBindings.hash(certificateHash: nil) == Array(repeating: 0, count: 16))
  }
}

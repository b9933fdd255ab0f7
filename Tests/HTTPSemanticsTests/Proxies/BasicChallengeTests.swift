import HTTPSemantics
import Testing

@Suite struct BasicChallengeTests {
  @Test(
    arguments: [
      (["Basic realm=\"Squid\""], true, "Squid"), (["basic realm=x, charset=\"UTF-8\""], true, "x"),
      (["Digest realm=\"d\", nonce=\"Basic \", Basic realm=\"b, c\""], true, "b, c"), (["Basic"], true, nil),
      (["Negotiate", "Basic realm=\"n\""], true, "n"), (["Digest realm=\"Basic realm\""], false, nil),
      (["Basics realm=\"x\""], false, nil), ([], false, nil),
    ] as [([String], Bool, String?)])
  func reads(values: [String], isOffered: Bool, realm: String?) {
    let read = BasicChallenge.realm(in: values)
    #expect((read != nil) == isOffered)
    #expect((read ?? nil) == realm)
  }
}

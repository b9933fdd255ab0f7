import HTTPSemantics
import Testing

@Suite struct QuotedStringTests {
  @Test(arguments: [("", #""""#), ("a b", #""a b""#), (#"a"b\c"#, #""a\"b\\c""#), ("ü", #""ü""#)])
  func quotesAndBackslashesAreEscaped(text: String, quoted: String) {
    #expect(QuotedString.encoded(text) == quoted)
    #expect(AuthenticationChallenge.parse(["x a=" + quoted]).first?.parameters["a"] == text)
  }
}

import HTTPSemantics
import Testing

/// WHATWG URL standard §5.
@Suite struct FormEncodingTests {
  @Test(arguments: [
    ("", ""), ("abcXYZ019", "abcXYZ019"), ("*-._", "*-._"), ("a b", "a+b"), ("a+b", "a%2Bb"), ("~", "%7E"),
    ("a&b=c", "a%26b%3Dc"), ("100%", "100%25"), ("%26", "%2526"), ("a;b", "a%3Bb"), ("?#/\\", "%3F%23%2F%5C"),
    ("line\r\nnext", "line%0D%0Anext"), ("\0", "%00"), ("\u{7F}\t", "%7F%09"), ("é", "%C3%A9"), ("e\u{301}", "e%CC%81"),
    ("日本", "%E6%97%A5%E6%9C%AC"), ("👩‍👧", "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"), ("\u{FFFF}", "%EF%BF%BF"),
    ("<\"'>()!$,:@[]^`{|}", "%3C%22%27%3E%28%29%21%24%2C%3A%40%5B%5D%5E%60%7B%7C%7D"),
  ])
  func namesAndValuesAreEncodedAlike(_ text: String, _ encoded: String) {
    #expect(FormEncoding.encoded([(text, text)]) == "\(encoded)=\(encoded)")
    #expect(FormEncoding.fields(of: "\(encoded)=\(encoded)").map(\.name) == [text])
    #expect(FormEncoding.fields(of: "\(encoded)=\(encoded)").map(\.value) == [text])
  }

  @Test func everyByteOfASCIIComesBackAndOnlyPlainOnesAreWritten() throws {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-._+%&=".utf8)
    for byte in UInt8(0)..<0x80 {
      let text = "x" + String(UnicodeScalar(byte)) + "y"
      let encoded = FormEncoding.encoded([("n", text), (text, "v")])
      #expect(encoded.utf8.allSatisfy { plain.contains($0) })
      let fields = FormEncoding.fields(of: encoded)
      #expect(fields.map(\.name) == ["n", text] && fields.map(\.value) == [text, "v"])
    }
  }

  @Test func fieldsAreJoinedInOrder() {
    #expect(FormEncoding.encoded([]) == "")
    #expect(FormEncoding.encoded([("a", "1"), ("b", nil), ("", ""), ("a", "")]) == "a=1&b&=&a=")
  }

  @Test func textIsCutBeforeItIsDecoded() {
    let fields = FormEncoding.fields(of: "a=1%262&&b&c=d=e&+%3D=%2B&=&%=%4")
    #expect(fields.map(\.name) == ["a", "b", "c", " =", "", "%"])
    #expect(fields.map(\.value) == ["1&2", nil, "d=e", "+", "", "%4"])
  }

  @Test func bytesThatAreNotUTF8AreReplaced() {
    #expect(FormEncoding.fields(of: "a=%FF%ED%A0%80").map(\.value) == [String(repeating: "\u{FFFD}", count: 4)])
  }
}

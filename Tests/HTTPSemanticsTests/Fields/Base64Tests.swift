import HTTPSemantics
import Testing

/// RFC 4648 §10.
@Suite struct Base64Tests {
  @Test(
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func textIsEncodedAndDecoded(plain: String, encoded: String) {
    #expect(Base64.encoded(Array(plain.utf8)) == encoded)
    #expect(Base64.decoded(encoded.utf8) == Array(plain.utf8))
  }

  @Test(arguments: ["Z", "Zg=", "Zg===", "=", "Zm9v=", "Zm-v", "Zm9vé"])
  func malformedTextIsRefused(text: String) { #expect(Base64.decoded(text.utf8) == nil) }

  @Test func bytesAreHexadecimalDigits() { #expect([0x00, 0x0F, 0xA0, 0xFF].hexText == "000fa0ff") }
}

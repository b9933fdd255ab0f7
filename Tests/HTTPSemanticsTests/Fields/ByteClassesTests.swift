import HTTPSemantics
import Testing

@Suite struct ByteClassesTests {
  @Test func classesOfEveryByte() {
    for byte in UInt8.min...UInt8.max {
      let character = Character(Unicode.Scalar(byte))
      #expect(byte.isDigit == ("0"..."9").contains(character))
      #expect(byte.isLetter == (character.isASCII && character.isLetter))
      #expect(byte.hexValue.map(Int.init) == (byte < 0x80 ? character.hexDigitValue : nil))
      #expect(byte.isHTTPWhitespace == (byte == 0x20 || byte == 0x09))
      #expect(byte.isControl == (byte < 0x20 || byte == 0x7F))
    }
  }

  @Test(
    arguments: [
      ("0", 0), ("007", 7), ("9223372036854775807", Int64.max), ("9223372036854775808", nil), ("", nil), ("+1", nil),
      ("-1", nil), (" 1", nil), ("1 ", nil), ("0x1", nil), ("1_0", nil), ("٣", nil), ("99999999999999999999999", nil),
    ] as [(String, Int64?)])
  func decimals(_ text: String, value: Int64?) {
    #expect(Int64(decimalDigits: text.utf8) == value)
  }

  @Test(arguments: [
    ("", "", true), ("a%20b", "a b", true), ("%C3%A9", "é", true), ("100%", "100%", false), ("%4", "%4", false),
    ("%zz", "%zz", false), ("%%41", "%A", false), ("%4a%4A", "JJ", true),
  ])
  func percentDecoding(_ text: String, decoded: String, isWellFormed: Bool) {
    #expect(percentDecoded(text.utf8) == Array(decoded.utf8))
    #expect((percentDecoded(text.utf8, lenient: false) != nil) == isWellFormed)
  }

  @Test(arguments: [("", ""), ("  ", ""), (" a", "a"), ("a\t ", "a"), ("\t a b \t", "a b"), ("\u{A0}a", "\u{A0}a")])
  func trimming(_ text: String, trimmed: String) {
    #expect(text.trimmingHTTPWhitespace() == trimmed)
    #expect("<\(text)>".dropFirst().dropLast().trimmingHTTPWhitespace() == trimmed)
  }
}

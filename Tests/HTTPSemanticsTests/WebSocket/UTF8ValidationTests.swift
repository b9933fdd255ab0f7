import HTTPSemantics
import Testing

@Suite struct UTF8ValidationTests {
  private static let valid: [[UInt8]] = [
    [], Array("κόσμε".utf8), Array("€ 𝄞 plain text that is longer than a word".utf8), [0x00], [0x7F], [0xC2, 0x80],
    [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
    [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
  ]

  private static let invalid: [[UInt8]] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2, 0x41], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
    [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    Array("12345678".utf8) + [0xFF] + Array("12345678".utf8),
    // "κόσμε", a lone surrogate, "edited".
    [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5, 0xED, 0xA0, 0x80, 0x65, 0x64],
  ]

  @Test(arguments: valid) func validTextIsAccepted(_ bytes: [UInt8]) {
    var whole = UTF8Validation()
    let isValid = whole.take(bytes)
    #expect(isValid && whole.isComplete)
    var piecemeal = UTF8Validation()
    let allPass = bytes.allSatisfy { piecemeal.take([$0]) }
    #expect(allPass && piecemeal.isComplete)
  }

  @Test(arguments: invalid) func invalidTextIsRefused(_ bytes: [UInt8]) {
    var whole = UTF8Validation()
    let isValid = whole.take(bytes)
    #expect(!isValid)
    var piecemeal = UTF8Validation()
    let allPass = bytes.allSatisfy { piecemeal.take([$0]) }
    #expect(!allPass || !piecemeal.isComplete)
  }

  @Test(arguments: [[0xC2], [0xE0, 0xA0], [0xF0, 0x90, 0x80], Array("12345678".utf8) + [0xE2]] as [[UInt8]])
  func incompleteCharacterIsRecognised(_ bytes: [UInt8]) {
    var text = UTF8Validation()
    let isValidSoFar = text.take(bytes)
    #expect(isValidSoFar && !text.isComplete)
  }

  /// Every sequence of up to three bytes from the edges of the ranges is judged as the standard library judges it.
  @Test func agreesWithTheStandardLibrary() {
    let edges: [UInt8] = [
      0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
      0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    for first in edges {
      for second in edges {
        for third in edges {
          let bytes = [first, second, third]
          var text = UTF8Validation()
          let isValid = text.take(bytes) && text.isComplete
          #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
      }
    }
  }
}

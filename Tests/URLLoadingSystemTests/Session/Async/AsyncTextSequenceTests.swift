import Foundation
import Testing
import URLLoadingSystem

/// Bytes as an asynchronous sequence.
private struct Bytes: AsyncSequence, Sendable {
  let bytes: [UInt8]
  init(_ text: String) { bytes = Array(text.utf8) }
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes[...]) }
  struct Iterator: AsyncIteratorProtocol {
    var bytes: ArraySlice<UInt8>
    mutating func next() async -> UInt8? { bytes.popFirst() }
  }
}

@Suite struct AsyncTextSequenceTests {
  @Test(
    arguments: [
      ("", []),
      ("one", ["one"]),
      ("one\n", ["one"]),
      ("one\ntwo", ["one", "two"]),
      ("one\r\ntwo\rthree", ["one", "two", "three"]),
      ("one\n\n\ntwo", ["one", "two"]),
      ("\r\n\r\n", []),
      ("one\u{0B}two\u{0C}three", ["one", "two", "three"]),
      ("one\u{85}two\u{2028}three\u{2029}four", ["one", "two", "three", "four"]),
      ("é…ü\nñ", ["é…ü", "ñ"]),
      ("\u{2027}\u{A8}", ["\u{2027}\u{A8}"]),
    ] as [(String, [String])])
  func splitsLines(_ text: String, _ lines: [String]) async {
    #expect(await Bytes(text).lines.reduce(into: []) { $0.append($1) } == lines)
  }

  @Test(arguments: ["", "plain", "naïve", "日本語", "e\u{301}x", "👩‍👩‍👧‍👦!", "🇫🇷🇩🇪", "a\r\nb"])
  func readsCharactersAndScalars(_ text: String) async {
    #expect(await Bytes(text).characters.reduce(into: []) { $0.append($1) } == Array(text))
    let scalars = await Bytes(text).unicodeScalars.reduce(into: []) { $0.append($1) }
    #expect(scalars == Array(text.unicodeScalars))
  }

  /// Every two-byte input and some longer ones: the same repairs as `String` makes.
  @Test func repairsLikeString() async {
    var inputs: [[UInt8]] = [
      [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0xC3, 0xA9], [0xED, 0xA0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xE0, 0x80, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xFF, 0xFE, 0x41], [0xC3, 0xC3, 0xA9],
    ]
    for first in UInt8(0x70)...0xFF {
      for second in [0x41, 0x7F, 0x80, 0x8F, 0x90, 0xBF, 0xC2] { inputs.append([first, UInt8(second)]) }
    }
    for input in inputs {
      let scalars = await Bytes(input).unicodeScalars.reduce(into: []) { $0.append($1) }
      #expect(scalars == Array(String(decoding: input, as: UTF8.self).unicodeScalars), "\(input)")
    }
  }
}

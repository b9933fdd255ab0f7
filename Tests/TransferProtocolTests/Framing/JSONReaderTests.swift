import Foundation
import Testing
import TransferProtocol

@Suite struct JSONReaderTests {
  private static func nested(_ open: String, _ count: Int, _ rest: String = "") -> String {
    String(repeating: open, count: count) + rest
  }

  /// The toolchain's decoder would stop the process at some of them.
  @Test(
    arguments: [
      nested("[", 257), nested("[", 512), nested("[", 513), nested("[", 514), nested("[", 100_000),
      nested("{\"a\":", 512, "["), nested("{\"a\":", 513), nested("{\"a\":", 100_000), "{\"a\\\"\":" + nested("[", 512),
      nested("[[],", 512, "["), "[\"\\\\\"," + nested("[", 512), nested("\r\n\t [", 513),
    ])
  func whatIsNestedTooDeepIsRefused(_ text: String) {
    #expect(throws: DecodingError.self) { try JSONReader.decode([String].self, from: Data(text.utf8)) }
    #expect(throws: DecodingError.self) { try JSONReader.plainValue(of: Data(text.utf8)) }
  }

  @Test(
    arguments: [
      (String.Encoding.utf16LittleEndian, [0xFF, 0xFE]), (.utf16BigEndian, [0xFE, 0xFF]), (.utf16LittleEndian, []),
      (.utf16BigEndian, []), (.utf32LittleEndian, [0xFF, 0xFE, 0, 0]), (.utf32BigEndian, [0, 0, 0xFE, 0xFF]),
      (.utf32LittleEndian, []), (.utf32BigEndian, []),
    ] as [(String.Encoding, [UInt8])])
  func otherEncodingsAreRefused(_ encoding: String.Encoding, _ mark: [UInt8]) throws {
    for text in ["[]", "[\"\u{2222}\"]", "[\"\u{2222}\"," + JSONReaderTests.nested("[", 512)] {
      let data = try Data(mark) + #require(text.data(using: encoding))
      #expect(throws: DecodingError.self) { try JSONReader.decode([String].self, from: data) }
    }
  }

  @Test(
    arguments: [
      "", " ", "\0", "[", "[\"", "[\"\\", "[\"\\u", "[\"\\ud800\"]", "[\"\\ud800\\u\"]", "[1]", "[\"a\"", "[\"a\",",
      "{}",
      "tru", "nul", "-", "[\"\u{1}\"]", "1e", "[]]", "[\"a\"]x",
    ])
  func whatIsNoListOfTextIsRefused(_ text: String) {
    #expect(throws: DecodingError.self) { try JSONReader.decode([String].self, from: Data(text.utf8)) }
  }

  /// No byte anywhere stops the process; what is no UTF-8 is refused.
  @Test func everyByteAtEveryPlaceIsReadOrRefused() {
    let frames = [
      ("", ""), ("[", "]"), ("[\"", "\"]"), ("[\"\\", "\"]"), ("[\"\\u", "\"]"), ("[1", "]"), ("[\"a\"", ""),
    ]
    for (before, after) in frames {
      for first in UInt8.min...UInt8.max {
        for more in [[], [first], [0x80], [0x80, 0x80], [0x80, 0x80, 0x80], [0x22]] as [[UInt8]] {
          let bytes = Array(before.utf8) + [first] + more + Array(after.utf8)
          let value = try? JSONReader.decode([String].self, from: Data(bytes))
          #expect(value == nil || String(validating: bytes, as: UTF8.self) != nil)
        }
      }
    }
  }

  @Test func nestingUpToTheLimitIsRead() throws {
    #expect(
      try JSONReader.decode([String].self, from: Data("[\"[[{\\\"[\", \"\u{2222}\"]".utf8)) == ["[[{\"[", "\u{2222}"])
    #expect(try JSONReader.decode([String].self, from: Data([0xEF, 0xBB, 0xBF] + Array("[\"a\"]".utf8))) == ["a"])
    struct Nest: Decodable {
      let depth: Int
      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        depth = container.isAtEnd ? 1 : try container.decode(Nest.self).depth + 1
      }
    }
    let limit = JSONReader.maximumDepth
    let text = JSONReaderTests.nested("[", limit) + JSONReaderTests.nested("]", limit)
    #expect(try JSONReader.decode(Nest.self, from: Data(text.utf8)).depth == limit)
  }

  @Test func datesAreReadAsAsked() throws {
    let json = Data("[1000]".utf8)
    let seconds = try JSONReader.decode([Date].self, from: json, dates: .secondsSince1970)
    #expect(seconds == [Date(timeIntervalSince1970: 1000)])
    let plain = try JSONReader.decode([Date].self, from: json)
    #expect(plain == [Date(timeIntervalSinceReferenceDate: 1000)])
  }
}

import Foundation
import Testing

@testable import URLLoadingSystem

/// Property lists as encoders write them, and as somebody writes them who wants to do harm. The toolchain's decoder
/// would stop the process at some of these.
@Suite struct PropertyListReaderTests {
  private struct Everything: Codable, Equatable {
    var string: String?
    var integer: Int64?
    var unsigned: UInt64?
    var real: Double?
    var bool: Bool?
    var data: Data?
    var array: [Everything]?
    var dictionary: [String: Everything]?
  }

  private struct Refused: Error, Equatable {}

  private static let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

  private static func list(_ content: String) -> Data { Data((header + "<plist>" + content + "</plist>").utf8) }

  private static func entry(_ key: String, _ value: String) -> Data {
    list("<dict><key>\(key)</key>\(value)</dict>")
  }

  private func read(_ data: Data) throws -> Everything { try PropertyListReader.decode(data, orThrow: Refused()) }

  @Test func whatIsEncodedIsRead() throws {
    let texts = ["", " ", "a", "<&>\"'", "\r\n\t", "\u{1}", "ä€😀\u{FFFE}", "]]>", "<!--", "&amp;amp;"]
    let integers: [Int64] = [.min, -1, 0, 1, .max]
    let reals: [Double] = [0, -0.5, 1e300, .leastNonzeroMagnitude, .pi, .greatestFiniteMagnitude, 60]
    var list = Everything(unsigned: .max, bool: true)
    list.array = texts.map { Everything(string: $0) } + integers.map { Everything(integer: $0) }
    list.array? += reals.map { Everything(real: $0, bool: false) }
    list.array? += [0, 1, 2, 3, 1000].map { Everything(data: Data(repeating: 0xA5, count: $0)) }
    list.dictionary = ["": Everything(array: []), "<&>": Everything(dictionary: [:])]
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    let data = try encoder.encode(list)
    #expect(try read(data) == list)
    // The other encoder writes the same with other white space.
    let plain = try PropertyListSerialization.propertyList(from: data, format: nil)
    #expect(try read(PropertyListSerialization.data(fromPropertyList: plain, format: .xml, options: 0)) == list)
  }

  @Test(
    arguments: [
      (list("<dict/>"), Everything()), (list(" <dict>\r\n\t</dict> "), Everything()),
      (list("<dict/>") + Data("\n \n".utf8), Everything()),
      (
        Data((header + "\n<!DOCTYPE plist PUBLIC \"a\" \"b\">\n<plist version=\"1.0\"><dict/></plist>").utf8),
        Everything()
      ),
      (entry("string", "<string/>"), Everything(string: "")),
      (entry("string", "<string>&lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;</string>"), Everything(string: "<&>\"'A😀")),
      (entry("&#115;tring", "<string>a</string>"), Everything(string: "a")),
      (entry("data", "<data> Y W\n\t\rE = </data>"), Everything(data: Data("aa".utf8))),
      (entry("data", "<data/>"), Everything(data: Data())),
      (entry("other", "<array><true/><dict/><array/><real>1</real></array>"), Everything()),
      (entry("real", "<real>-1.5E+3</real>"), Everything(real: -1500)),
      (entry("integer", "<real>7</real>"), Everything(integer: 7)),
      (entry("unsigned", "<integer>18446744073709551615</integer>"), Everything(unsigned: .max)),
    ] as [(Data, Everything)])
  private func whatIsPlainIsRead(_ data: Data, _ expected: Everything) throws {
    #expect(try read(data) == expected)
  }

  static let hostileValues = [
    "", "a", "<string>", "<string", "<string>a", "<string>a</strin>", "<string>a</key>", "<string>&</string>",
    "<string>&amp</string>", "<string>&a;</string>", "<string>&#;</string>", "<string>&#x;</string>",
    "<string>&#xD800;</string>", "<string>&#x110000;</string>", "<string>&#+65;</string>", "<string>&#-65;</string>",
    "<string>&#99999999999999999999;</string>", "<string>&#65</string>", "<string>&#xFFFFFFFF;</string>",
    "<string>&#X41;</string>", "<string><![CDATA[a]]></string>", "<string>a<!-- b --></string>",
    "<string a=\"b\">a</string>", "<string >a</string>", "<string><string>a</string></string>",
    "<integer></integer>", "<integer/>", "<integer>-</integer>", "<integer>--1</integer>", "<integer>1-1</integer>",
    "<integer>+1</integer>", "<integer> 1</integer>", "<integer>0x10</integer>", "<integer>1.5</integer>",
    "<integer>18446744073709551616</integer>", "<integer>-9223372036854775809</integer>", "<integer>\u{A0}1</integer>",
    "<integer>١</integer>", "<integer>\(String(repeating: "1", count: 100_000))</integer>", "<integer>1",
    "<integer>&#49;</integer>", "<real></real>", "<real/>", "<real>e</real>", "<real>.</real>", "<real>nan</real>",
    "<real>inf</real>", "<real>+infinity</real>", "<real>1e999</real>", "<real>-1e999</real>", "<real>0x1p3</real>",
    "<real>1e1e1</real>", "<real>\(String(repeating: "1", count: 100_000))</real>", "<true>", "<true></true>",
    "<True/>",
    "<false", "<data>", "<data>a</data>", "<data>ab=c</data>", "<data>====</data>", "<data>YW\u{0}E=</data>",
    "<data>Y-_=</data>", "<data>YWE</data>", "<data>é</data>", "<date>2001-01-01T00:00:00Z</date>",
    "<date>999999999999-99-99T99:99:99Z</date>", "<date/>", "<array>", "<array></dict>", "<array>a</array>",
    "<array><key>a</key></array>", "<dict>", "<dict><key>a</key></dict>", "<dict><string>a</string><true/></dict>",
    "<dict><key>a</key><key>b</key><true/></dict>", "<dict><true/></dict>", "<dict><key/><true/></dict>",
    "<dict><key>a</key><true/><key>a</key><true/></dict>", "<dict><key>a</key><true/><key>&#97;</key><true/></dict>",
    "<dict><key><dict/></key><true/></dict>", "<key>a</key>", "<plist><true/></plist>", "<uid>1</uid>",
    "<dict><key>CF$UID</key><integer>99999999999999999999</integer></dict>", "<!-- a --><true/>", "<?a?><true/>",
    "<true/><true/>", "<null/>", "</dict>", "\u{0}<true/>",
  ]

  @Test(arguments: hostileValues) func whatIsOddIsRefused(_ value: String) {
    for key in ["string", "integer", "real", "data", "array", "dictionary", "bool", "other"] {
      #expect(throws: Refused()) { try read(PropertyListReaderTests.entry(key, value)) }
    }
    #expect(throws: Refused()) { try read(PropertyListReaderTests.list(value)) }
  }

  private static func data(_ text: String) -> Data { Data(text.utf8) }

  private static let noLists: [Data] = [
    Data(), Data([0]), data("bplist00"), data("bplist00\u{D1}"), data("{ a = b; }"), data("<"),
    data("<plist><dict/></plist>"), data(header), data("\(header)<plist>"), data("\(header)<dict/>"), list(""),
    Data(list("<dict/>").dropLast()), joined(list("<dict/>"), data("a")), joined(list("<dict/>"), Data([0])),
    joined(data("\n"), list("<dict/>")), joined(Data([0xEF, 0xBB, 0xBF]), list("<dict/>")),
    data("\(header)<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><dict/></plist>"),
    data("\(header)<!DOCTYPE plist PUBLIC \"a\" \"b\" [<!ENTITY a \"b\">]><plist><dict/></plist>"),
    data("\(header)<!DOCTYPE plist SYSTEM \"file:///etc/passwd\"><plist><dict/></plist>"),
    data("\(header)<plist version=\"2.0\"><dict/></plist>"),
    data("<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><dict/></plist>"),
    "\(header)<plist><dict/></plist>".data(using: .utf16) ?? Data(),
    "\(header)<plist><dict/></plist>".data(using: .utf32) ?? Data(),
  ]

  private static func joined(_ first: Data, _ second: Data) -> Data { first + second }

  @Test(arguments: noLists)
  func whatIsNoPropertyListIsRefused(_ data: Data) {
    #expect(throws: Refused()) { try read(data) }
  }

  /// Bytes that are no UTF-8, in every place that text or a number is expected.
  @Test func whatIsNotUTF8IsRefused() throws {
    let wrong: [[UInt8]] =
      (0x80...0xFF).map { [$0] }
      + [
        [0xC0, 0x80], [0xC2], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF], [0xFF, 0xFF],
        [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE, 0xFF],
        [UInt8](repeating: 0xFF, count: 120),
      ]
    for element in ["string", "integer", "real", "data", "date", "key", "array", "dict"] {
      for bytes in wrong {
        for more in ["", "2", "</"] {
          let data =
            Data((PropertyListReaderTests.header + "<plist><dict><key>\(element)</key><\(element)>").utf8) + Data(bytes)
            + Data((more + "</\(element)></dict></plist>").utf8)
          #expect(throws: Refused()) { try read(data) }
        }
      }
    }
  }

  @Test func whatIsTooDeepOrTooLongIsRefused() throws {
    func nested(_ open: String, _ close: String, _ count: Int, complete: Bool = true) -> Data {
      let inner =
        String(repeating: open, count: count) + "<true/>" + String(repeating: close, count: complete ? count : 0)
      return PropertyListReaderTests.entry("other", inner)
    }
    let limit = PropertyListReader.maximumDepth
    #expect(try read(nested("<array>", "</array>", limit - 1)) == Everything())
    #expect(try read(nested("<dict><key>a</key>", "</dict>", limit - 1)) == Everything())
    for count in [limit, 1000, 150_000] {
      for complete in [true, false] {
        #expect(throws: Refused()) { try read(nested("<array>", "</array>", count, complete: complete)) }
        #expect(throws: Refused()) { try read(nested("<dict><key>a</key>", "</dict>", count, complete: complete)) }
      }
    }
    let long = String(repeating: "a", count: PropertyListReader.maximumLength)
    #expect(throws: Refused()) { try read(PropertyListReaderTests.entry("string", "<string>\(long)</string>")) }
    #expect(try read(PropertyListReaderTests.entry("string", "<string>\(long.dropLast(200))</string>")).string != nil)
  }

  @Test func everyTruncationIsRefused() throws {
    let data = PropertyListReaderTests.entry(
      "dictionary", "<dict><key>a</key><dict><key>real</key><real>1</real></dict></dict>")
    for count in 0..<data.count { #expect(throws: Refused()) { try read(data.prefix(count)) } }
    #expect(try read(data).dictionary?["a"]?.real == 1)
  }
}

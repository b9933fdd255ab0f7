import HTTPSemantics
import Testing

@Suite struct DataURLTests {
  @Test(
    arguments: [
      // RFC 2397 §4
      ("data:,A%20brief%20note", "text/plain", "US-ASCII", "A brief note"),
      ("data:text/plain;charset=iso-8859-7,abc", "text/plain", "iso-8859-7", "abc"),
      ("data:text/html,<p>hi</p>", "text/html", nil, "<p>hi</p>"),
      ("DATA:Text/HTML,x", "text/html", nil, "x"),
      ("data:;charset=utf-8,h%C3%A9", "text/plain", "utf-8", "hé"),
      ("data:,", "text/plain", "US-ASCII", ""),
      ("data:image/svg+xml;utf8,<svg/>", "image/svg+xml", nil, "<svg/>"),
      ("data:;charset=utf-8;charset=utf-16;image/png,abc", "text/plain", "utf-8", "abc"),
      ("data:,a,b", "text/plain", "US-ASCII", "a,b"),
      ("data:,100%", "text/plain", "US-ASCII", "100%"),
      ("data:,a#fragment", "text/plain", "US-ASCII", "a"),
      ("data:,a%23b", "text/plain", "US-ASCII", "a#b"),
      // A media type that can't be read is none.
      ("data:nonsense,x", "text/plain", "US-ASCII", "x"),
      ("data:a/b/c,x", "text/plain", "US-ASCII", "x"),
      ("data:text%2Fhtml,x", "text/plain", "US-ASCII", "x"),
      ("data:application_json;charset=utf-8,x", "text/plain", "US-ASCII", "x"),
      ("data://test/,X", "text/plain", "US-ASCII", "X"),
      // base64
      ("data:text/plain;base64,SGVsbG8=", "text/plain", nil, "Hello"),
      ("data:;base64,SGVsbG8", "text/plain", "US-ASCII", "Hello"),
      ("data:text/plain;charset=utf-8;BASE64,SGVsbG8hIQ==", "text/plain", "utf-8", "Hello!!"),
      ("data:text/plain; base64 ,SGVsbG8=", "text/plain", nil, "Hello"),
      ("data:;base64,SGVs%0AbG8%3D", "text/plain", "US-ASCII", "Hello"),
      ("data:;base64, S G V s b G 8 = ", "text/plain", "US-ASCII", "Hello"),
      ("data:;base64,", "text/plain", "US-ASCII", ""),
      ("data:;base64,%2B%2F%2B%2F", "text/plain", "US-ASCII", nil),
      ("data:text/plain;base64=x,SGVsbG8=", "text/plain", nil, "SGVsbG8="),
    ] as [(String, String, String?, String?)])
  func urlIsParsed(_ url: String, type: String, charset: String?, text: String?) throws {
    let data = try DataURL(parsing: url)
    #expect(data.mediaType.essence == type)
    #expect(data.mediaType.charset == charset)
    #expect(data.bytes == text.map { Array($0.utf8) } ?? [0xFB, 0xFF, 0xBF])
  }

  /// One row of what browsers make of a URL: its data, and the media type with its parameters. `default`: the one of a
  /// URL that names none.
  struct Row: Sendable {
    let url: String
    let type: String
    let bytes: [UInt8]

    init(_ url: String, _ type: String, _ bytes: [UInt8] = [0x58]) {
      self.url = url
      self.type = type
      self.bytes = bytes
    }
  }

  private static let undecoded: [UInt8] = [0x57, 0x41]

  @Test(arguments: [
    Row("data:,%FF", "default", [255]), Row("data:text/plain,X", "text/plain"), Row("data:text/plain ,X", "text/plain"),
    Row("data: text/plain,X", "text/plain"), Row("data:text/html  ,X", "text/html"),
    Row("data:text/plain%20,X", "text/plain%20"), Row("data:text/plain%0C,X", "text/plain%0c"),
    Row("data:text/plain;,X", "text/plain"), Row("data:;x=x;charset=x,X", "text/plain;x=x;charset=x"),
    Row("data:;x=x,X", "text/plain;x=x"), Row("data:text/plain;Charset=UTF-8,X", "text/plain;charset=UTF-8"),
    Row("data:text/plain;charset=windows-1252,%C2%B1", "text/plain;charset=windows-1252", [194, 177]),
    Row("data:IMAGE/gif;hi=x,X", "image/gif;hi=x"), Row("data:IMAGE/gif;CHARSET=x,X", "image/gif;charset=x"),
    Row("data: ,%FF", "default", [255]), Row("data:%20,%FF", "default", [255]), Row("data:%1F,%FF", "default", [255]),
    Row("data:%00,%FF", "default", [255]), Row("data:X,X", "default"), Row("data:%E2%80%A0,X", "default"),
    Row("data:%E2%80%A0/%E2%80%A0,X", "%e2%80%a0/%e2%80%a0"),
    Row("data:unknown/unknown,X X", "unknown/unknown", [88, 32, 88]),
    // A comma ends the media type, in quotation marks too.
    Row("data:text/plain;a=\",\",X", "text/plain;a=", [34, 44, 88]), Row("data:text/plain;a=%2C,X", "text/plain;a=%2C"),
    // Only the last parameter can be the word.
    Row("data:;base64;base64,WA", "text/plain"), Row("data:x/x;base64;base64,WA", "x/x"),
    Row("data:x/x;base64;charset=x,WA", "x/x;charset=x", undecoded),
    Row("data:x/x;base64;charset=x;base64,WA", "x/x;charset=x"), Row("data:x/x;base64;base64x,WA", "x/x", undecoded),
    Row("data:;base64,W%20A", "default"), Row("data:;base64,W%0CA", "default"),
    Row("data:x;base64x,WA", "default", undecoded), Row("data:x;base64;x,WA", "default", undecoded),
    Row("data:x;base64=x,WA", "default", undecoded), Row("data:;base64;,WA", "text/plain", undecoded),
    Row("data:;base64 ,WA", "default"), Row("data:;base 64,WA", "text/plain", undecoded),
    Row("data:;BASe64,WA", "default"), Row("data:;%62ase64,WA", "text/plain", undecoded),
    Row("data:%3Bbase64,WA", "default", undecoded), Row("data:; base64,WA", "default"),
    Row("data:;charset=x,X", "text/plain;charset=x"), Row("data:; charset=x,X", "text/plain;charset=x"),
    Row("data:;charset =x,X", "text/plain"), Row("data:;charset= x,X", "text/plain;charset= x"),
    Row("data:;charset=,X", "text/plain"), Row("data:;charset,X", "text/plain"),
    Row("data:;charset=\"x\",X", "text/plain;charset=x"), Row("data:;CHARSET=\"X\",X", "text/plain;charset=X"),
    Row("data:;charset=\"a\\\"b;c\"d;x=y,X", "text/plain;charset=a\"b;c;x=y"),
  ])
  func theURLIsReadAsBrowsersReadIt(_ row: Row) throws {
    let data = try DataURL(parsing: row.url)
    let parameters = data.mediaType.parameters.all.map { ";\($0.name)=\($0.value)" }.joined()
    let expected = row.type == "default" ? "text/plain;charset=US-ASCII" : row.type
    #expect(data.mediaType.essence + parameters == expected, "\(row.url)")
    #expect(data.bytes == row.bytes, "\(row.url)")
  }

  @Test(arguments: [
    ("data:text/plain%20,X", "text/plain"),
    ("data:%20text/html%20;%20charset=x%20;%20base64,WA", "text/html;charset=x"),
    ("data:;charset=%22a%20b%22,X", "text/plain;charset=a b"), ("data:;charset=%2,X", "text/plain;charset=%2"),
    ("data:;charset=%2C%,X", "text/plain;charset=%2C%"),
  ])
  func spacesAndQuotationMarksMayBeEscapedWhereTheTextHasNone(_ url: String, _ type: String) throws {
    let data = try DataURL(parsing: url, escapesSpaces: true)
    let parameters = data.mediaType.parameters.all.map { ";\($0.name)=\($0.value)" }.joined()
    #expect(data.mediaType.essence + parameters == type)
    #expect(data.bytes == [0x58])
  }

  @Test(arguments: [
    ("", DataURL.Malformation.notADataURL), ("http://h/", .notADataURL), ("data", .notADataURL),
    ("data:", .noComma), ("data:text/plain", .noComma), ("data:text/plain#,x", .noComma),
    ("data:;base64,A", .invalidBase64), ("data:;base64,A===", .invalidBase64), ("data:;base64,AAAA=", .invalidBase64),
    ("data:;base64,AA=A", .invalidBase64), ("data:;base64,A*AA", .invalidBase64), ("data:;base64,=", .invalidBase64),
    ("data:;base64,AA=", .invalidBase64), ("data:;base64,-_-_", .invalidBase64),
    ("data:;base64,AA%0BAA", .invalidBase64),
    ("data:;base64,AA%C2%A0AA", .invalidBase64), ("data:;base64,%00nonsense", .invalidBase64),
    ("data:;base64,AAA==", .invalidBase64), ("data:;base64,AAAA====", .invalidBase64),
    ("data:;base64,AAAAA", .invalidBase64),
  ])
  func invalidURLIsRefused(_ url: String, malformation: DataURL.Malformation) {
    #expect(throws: malformation) { try DataURL(parsing: url) }
    #expect(!malformation.sentence.isEmpty)
  }

  /// Bits that the last digit has too many of are dropped.
  @Test(
    arguments: [
      ("ab", [105]), ("abc", [105, 183]), ("abcd", [105, 183, 29]), ("/A", [252]), ("//A", [255, 240]), ("A/", [3]),
      ("AA/", [0, 15]), ("%09%0A%0C%0D ab%09%0A%0C%0D =%20=", [105]),
    ] as [(String, [UInt8])])
  func base64IsReadForgivingly(_ text: String, _ bytes: [UInt8]) throws {
    #expect(try DataURL(parsing: "data:;base64," + text).bytes == bytes)
  }

  @Test func everyByteIsDecoded() throws {
    let all = Array(UInt8.min...UInt8.max)
    let encoded = all.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try DataURL(parsing: "data:application/octet-stream," + encoded).bytes == all)
  }
}

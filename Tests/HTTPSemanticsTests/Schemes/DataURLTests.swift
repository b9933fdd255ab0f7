import HTTPSemantics
import Testing

@Suite struct DataURLTests {
  @Test(
    arguments: [
      // RFC 2397 §4
      ("data:,A%20brief%20note", "text/plain", nil, "A brief note"),
      ("data:text/plain;charset=iso-8859-7,abc", "text/plain", "iso-8859-7", "abc"),
      ("data:text/html,<p>hi</p>", "text/html", nil, "<p>hi</p>"),
      ("DATA:Text/HTML,x", "text/html", nil, "x"),
      ("data:;charset=utf-8,h%C3%A9", "text/plain", "utf-8", "hé"),
      ("data:,", "text/plain", nil, ""),
      ("data:image/svg+xml;utf8,<svg/>", "image/svg+xml", nil, "<svg/>"),
      ("data:;charset=utf-8;charset=utf-16;image/png,abc", "text/plain", "utf-8", "abc"),
      ("data:text%2Fhtml,x", "text/html", nil, "x"),
      ("data:,a,b", "text/plain", nil, "a,b"),
      ("data:,100%", "text/plain", nil, "100%"),
      ("data:,a#fragment", "text/plain", nil, "a"),
      ("data:,a%23b", "text/plain", nil, "a#b"),
      // base64
      ("data:text/plain;base64,SGVsbG8=", "text/plain", nil, "Hello"),
      ("data:;base64,SGVsbG8", "text/plain", nil, "Hello"),
      ("data:text/plain;charset=utf-8;BASE64,SGVsbG8hIQ==", "text/plain", "utf-8", "Hello!!"),
      ("data:text/plain; base64 ,SGVsbG8=", "text/plain", nil, "Hello"),
      ("data:;base64,SGVs%0AbG8%3D", "text/plain", nil, "Hello"),
      ("data:;base64, S G V s b G 8 = ", "text/plain", nil, "Hello"),
      ("data:;base64,", "text/plain", nil, ""),
      ("data:;base64,%2B%2F%2B%2F", "text/plain", nil, nil),
      ("data:text/plain;base64=x,SGVsbG8=", "text/plain", nil, "SGVsbG8="),
    ] as [(String, String, String?, String?)])
  func urlIsParsed(_ url: String, type: String, charset: String?, text: String?) throws {
    let data = try DataURL(parsing: url)
    #expect(data.mediaType.essence == type)
    #expect(data.mediaType.charset == charset)
    #expect(data.bytes == text.map { Array($0.utf8) } ?? [0xFB, 0xFF, 0xBF])
  }

  @Test(arguments: [
    ("", DataURL.Malformation.notADataURL), ("http://h/", .notADataURL), ("data", .notADataURL),
    ("data:", .noComma), ("data:text/plain", .noComma), ("data:text/plain#,x", .noComma),
    ("data:nonsense,x", .invalidMediaType), ("data:application_json;charset=utf-8,x", .invalidMediaType),
    ("data:a/b/c,x", .invalidMediaType), ("data:;base64,A", .invalidBase64), ("data:;base64,A===", .invalidBase64),
    ("data:;base64,AAAA=", .invalidBase64),
    ("data:;base64,AA=A", .invalidBase64), ("data:;base64,A*AA", .invalidBase64), ("data:;base64,=", .invalidBase64),
    ("data:;base64,AA=", .invalidBase64), ("data:;base64,-_-_", .invalidBase64),
  ])
  func invalidURLIsRefused(_ url: String, malformation: DataURL.Malformation) {
    #expect(throws: malformation) { try DataURL(parsing: url) }
    #expect(!malformation.sentence.isEmpty)
  }

  @Test func everyByteIsDecoded() throws {
    let all = Array(UInt8.min...UInt8.max)
    let encoded = all.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try DataURL(parsing: "data:application/octet-stream," + encoded).bytes == all)
  }
}

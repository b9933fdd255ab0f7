import HTTPSemantics
import Testing

@Suite struct MediaTypeTests {
  @Test(
    arguments: [
      ("text/html", "text/html", nil), ("Text/HTML; Charset=\"UTF-8\"", "text/html", "UTF-8"),
      ("text/html;charset=utf-8", "text/html", "utf-8"), (" application/ld+json ; a=b", "application/ld+json", nil),
      ("text / html", "text/html", nil), ("text/html, text/plain;charset=x", "text/html", nil),
      ("text/plain;charset=", "text/plain", nil), ("text/plain;charset=a;charset=b", "text/plain", "a"),
      ("text/plain;format=flowed;charset=us-ascii", "text/plain", "us-ascii"),
    ] as [(String, String, String?)])
  func parses(_ value: String, essence: String, charset: String?) {
    let type = MediaType(parsing: value)
    #expect(type?.essence == essence)
    #expect(type?.charset == charset)
  }

  @Test(arguments: ["", "text", "text/", "/html", "text/html/x", "te xt/html", "text/h(ml", ";charset=utf-8", "*"])
  func refuses(_ value: String) {
    #expect(MediaType(parsing: value) == nil)
  }
}

import HTTPSemantics
import Testing

@Suite struct HTTPOriginTests {
  @Test(arguments: [
    ("http://h/", "http", "h", 80), ("HTTPS://H", "https", "h", 443), ("http://u:p@h:8080/", "http", "h", 8080),
    ("http://h:/", "http", "h", 80), ("http://[::1]/", "http", "::1", 80),
    ("https://[FE80::1]:444", "https", "fe80::1", 444),
    ("http://a@b@c/", "http", "c", 80),
  ])
  func originIsParsed(_ url: String, scheme: String, host: String, port: Int) {
    let origin = HTTPOrigin(URIReference(url))
    #expect(origin?.scheme == scheme)
    #expect(origin?.host == host)
    #expect(origin?.port == port)
  }

  @Test(arguments: [
    "ftp://h/", "h", "http:h", "http:///p", "http://:80/", "http://h:99999/", "http://h:x/", "http://[::1/",
    "http://[::1]x/", "http://h:-1/", "//h/", "http://u@/",
  ])
  func urlWithoutAnOriginIsRefused(_ url: String) {
    #expect(HTTPOrigin(URIReference(url)) == nil)
  }
}

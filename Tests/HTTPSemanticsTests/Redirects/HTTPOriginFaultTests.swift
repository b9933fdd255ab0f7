import HTTPSemantics
import Testing

@Suite struct HTTPOriginFaultTests {
  @Test(
    arguments: [
      ("ftp://host/", "which is no http or https URL"), ("path", "which is no http or https URL"),
      ("http:///path", "which names no host"), ("http:path", "which names no host"),
      ("https://:80/", "which names no host"), ("https://user@:80/", "which names no host"),
      ("http://host:99999/", "whose port, 99999, is not a number up to 65535"),
      ("http://user@host:x/", "whose port, x, is not a number up to 65535"),
      ("http://[::1/", "whose host can't be read"),
    ])
  func says(url: String, fault: String) { #expect(HTTPOrigin.fault(of: url) == fault) }
}

import HTTPSemantics
import Testing

@Suite struct NetscapeCookieTests {
  @Test func aLineHasSevenFields() throws {
    let cookie = try #require(NetscapeCookie(line: "#HttpOnly_.Example.com\tTRUE\t/a\tTRUE\t1900000000\tn\tv=1; x"))
    #expect(cookie.name == "n" && cookie.value == "v=1; x" && cookie.domain == "example.com" && cookie.path == "/a")
    #expect(cookie.coversSubdomains && cookie.isSecure && cookie.isHTTPOnly)
    #expect(cookie.expires == 1_900_000_000)
    #expect(cookie.line == "#HttpOnly_.example.com\tTRUE\t/a\tTRUE\t1900000000\tn\tv=1; x")
  }

  @Test func aCookieOfTheSessionEndsAtZero() throws {
    let cookie = try #require(NetscapeCookie(line: "example.com\tFALSE\t/\tFALSE\t0\tn\t"))
    #expect(cookie.expires == nil && !cookie.coversSubdomains && !cookie.isSecure && !cookie.isHTTPOnly)
    #expect(cookie.value.isEmpty)
    #expect(cookie.line == "example.com\tFALSE\t/\tFALSE\t0\tn\t")
  }

  @Test(arguments: [
    "", "# comment", "#", "example.com\tFALSE\t/\tFALSE\t0", "example.com\tFALSE\t/\tFALSE\tsoon\tn\tv",
    "\tFALSE\t/\tFALSE\t0\tn\tv", "example.com\tFALSE\t/\tFALSE\t0\tn\tv\tw", "example.com\tFALSE\t/\tFALSE\t0\t\t",
    "example.com\tFALSE\t/\tFALSE\t0\tn\t\u{1}",
  ])
  func otherLinesAreNoCookies(line: String) { #expect(NetscapeCookie(line: Substring(line)) == nil) }

  @Test func aFileIsReadAsItWasWritten() {
    let cookies = (0..<3).map {
      NetscapeCookie(
        name: "n\($0)", value: "v", domain: "example.com", coversSubdomains: $0 == 0, path: "/",
        expires: $0 == 1 ? 5 : nil, isSecure: $0 == 2, isHTTPOnly: $0 == 1)
    }
    let file = NetscapeCookie.file(cookies)
    #expect(file.hasPrefix("# Netscape HTTP Cookie File\n"))
    #expect(NetscapeCookie.read(file) == cookies)
    #expect(NetscapeCookie.read(file.split(separator: "\n").joined(separator: "\r\n")) == cookies)
  }
}

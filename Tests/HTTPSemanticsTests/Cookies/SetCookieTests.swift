import HTTPSemantics
import Testing

@Suite struct SetCookieTests {
  /// RFC 6265bis §5.6: name and value.
  @Test(arguments: [
    ("a=b", "a", "b"), (" a = b ; x", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("a=\"b\"", "a", "\"b\""),
    ("a=b\tc", "a", "b\tc"),
  ])
  func nameAndValueAreParsed(field: String, name: String, value: String) throws {
    let cookie = try #require(SetCookie.parse(field, now: 0))
    #expect(cookie.name == name)
    #expect(cookie.value == value)
  }

  @Test(arguments: [
    "", ";", "a", "=b", "a=b\u{7}", "a=b; Path=/\r", "a=" + String(repeating: "x", count: 4_096), "\u{0}a=b",
  ])
  func invalidCookieIsIgnored(field: String) { #expect(SetCookie.parse(field, now: 0) == nil) }

  @Test func attributesAreParsedInAnyCase() throws {
    let cookie = try #require(
      SetCookie.parse("a=b; DOMAIN=.Example.COM; path=/x; SECURE; HttpOnly=1; samesite=STRICT; unknown=1", now: 0))
    #expect(cookie.domain == "example.com")
    #expect(cookie.path == "/x")
    #expect(cookie.isSecure && cookie.isHTTPOnly)
    #expect(cookie.sameSite == .strict)
    #expect(cookie.expires == nil)
  }

  /// §5.6.1, §5.6.2 and §5.7 step 3: what decides when a cookie ends.
  @Test(
    arguments: [
      ("Max-Age=10", 1_010), ("Max-Age=0", -62_135_596_800), ("Max-Age=-5", -62_135_596_800), ("Max-Age=x", nil),
      ("Max-Age=+5", nil), ("Max-Age=", nil), ("Max-Age=99999999999999999999", 253_402_300_799),
      ("Expires=Thu, 01 Jan 1970 00:00:09 GMT", 9), ("Expires=nonsense", nil),
      ("Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:09 GMT", 1_010), ("Max-Age=1; Max-Age=2", 1_002),
      ("Max-Age=3; Max-Age=x", 1_003),
    ] as [(String, Int64?)])
  func expiryFollowsMaxAgeThenExpires(attributes: String, at seconds: Int64?) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 1_000)).expires == seconds)
  }

  @Test(
    arguments: [("Path=relative", nil), ("Path=", nil), ("Path=/a; Path=/b", "/b"), ("Path=/a; Path=b", nil)]
      as [(String, String?)])
  func lastPathAttributeCounts(attributes: String, path: String?) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 0)).path == path)
  }

  @Test func attributesThatAreTooLongAreIgnored() throws {
    let path = "/" + String(repeating: "x", count: 1_024)
    #expect(try #require(SetCookie.parse("a=b; Path=" + path, now: 0)).path == nil)
  }

  @Test(arguments: [
    ("a=1", ["a=1"]), ("a=1, b=2", ["a=1", "b=2"]),
    ("a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=2", ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "b=2"]),
    ("a=1,2, b=3", ["a=1,2", "b=3"]), ("a=1,b=2", ["a=1", "b=2"]), (",", [","]), ("", []),
  ])
  func joinedFieldsAreSplit(joined: String, fields: [String]) { #expect(SetCookie.split(joined: joined) == fields) }
}

import HTTPSemantics
import Testing

@Suite struct SetCookieTests {
  /// RFC 6265bis §5.6: name and value.
  @Test(arguments: [
    ("a=b", "a", "b"), (" a = b ; x", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("a=\"b\"", "a", "\"b\""),
    ("a=b\tc", "a", "b\tc"), ("  A=== BC  ;foo;;;   bar", "A", "== BC"), ("z=y, a=b", "z", "y, a=b"),
    ("aBc=\"zz;pp\" ; ;", "aBc", "\"zz"), ("foo=\u{6625}\u{8282}", "foo", "\u{6625}\u{8282}"),
    ("ABC=;  path = /", "ABC", ""),
  ])
  func nameAndValueAreParsed(field: String, name: String, value: String) throws {
    let cookie = try #require(SetCookie.parse(field, now: 0))
    #expect(cookie.name == name)
    #expect(cookie.value == value)
  }

  @Test(arguments: [
    "", ";", "=", "  =  ", "   ", "; bar", "a=b\u{7}", "a=b; Path=/\r", "\u{0}a=b", "a=b\u{7f}", "a=b; c=\u{1f}",
    "a=" + String(repeating: "x", count: 4_096), String(repeating: "n", count: 4_097),
  ])
  func invalidCookieIsIgnored(field: String) { #expect(SetCookie.parse(field, now: 0) == nil) }

  /// §5.6 step 3: "If the name-value-pair string lacks a %x3D ("=") character, then the name string is empty, and the
  /// value string is the value of name-value-pair."
  @Test(arguments: [
    ("a", "a"), ("=b", "b"), (" =b; Path=/", "b"), ("BLAHHH; path=/;", "BLAHHH"), ("==", "="),
  ])
  func aCookieMayHaveNoName(field: String, value: String) throws {
    let cookie = try #require(SetCookie.parse(field, now: 0))
    #expect(cookie.name.isEmpty)
    #expect(cookie.value == value)
  }

  /// §5.6 step 5: "If the sum of the lengths of the name string and the value string is more than 4096 octets".
  @Test func nameAndValueTogetherMayHave4096Octets() {
    #expect(SetCookie.parse("ab=" + String(repeating: "x", count: 4_094), now: 0) != nil)
    #expect(SetCookie.parse("ab=" + String(repeating: "x", count: 4_095), now: 0) == nil)
    #expect(SetCookie.parse("a=" + String(repeating: "\u{e9}", count: 2_048), now: 0) == nil)
  }

  /// §5.6.5, §5.6.6 and the attribute of partitioned cookies: the name alone counts, whatever its value.
  @Test(arguments: [
    ("secure", true), ("Secure", true), ("seCURe", true), ("Secure=", true), ("Secure=aaaa", true), ("Secure =a", true),
    ("  Secure     ;", true), ("qux=\"aaa;bbb\"; Secure", true), ("\"Secure\"", false), ("Secure qux", false),
  ])
  func secureIsAnAttributeByItsName(attributes: String, isSecure: Bool) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 0)).isSecure == isSecure)
  }

  /// §5.6.7: the last attribute counts, and an unknown value is as good as none.
  @Test(
    arguments: [
      ("SameSite=Strict", .strict), ("samesite=lax", .lax), ("SameSite=None", SetCookie.SameSite.none),
      ("SameSite=Strict; SameSite=Lax", .lax), ("SameSite=Strict; SameSite=x", nil), ("SameSite", nil),
    ] as [(String, SetCookie.SameSite?)])
  func theLastSameSiteCounts(attributes: String, policy: SetCookie.SameSite?) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 0)).sameSite == policy)
  }

  /// §5.6.3: "If the first character of cookie-domain is %x2E ("."), let cookie-domain be cookie-domain without its
  /// leading %x2E (".")", and an empty one is none.
  @Test(
    arguments: [
      ("Domain=example.com", "example.com"), ("Domain=.Example.COM", "example.com"), ("Domain=", nil),
      ("Domain=.", nil),
      ("Domain=..example.com", ".example.com"), ("Domain=a.com; Domain=b.com", "b.com"), ("Domain=a.com; Domain=", nil),
    ] as [(String, String?)])
  func theLastDomainCounts(attributes: String, domain: String?) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 0)).domain == domain)
  }

  @Test func partitionedIsAnAttribute() throws {
    #expect(try #require(SetCookie.parse("a=b; Secure; Partitioned", now: 0)).isPartitioned)
    #expect(!(try #require(SetCookie.parse("a=b; Secure", now: 0)).isPartitioned))
  }

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
      ("Max-Age=+5", nil), ("Max-Age=", nil), ("Max-Age=-", nil), ("Max-Age=50,399", nil),
      ("Expires=Thu, 01 Jan 1970 00:00:09 GMT", 9), ("Expires=nonsense", nil),
      ("Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:09 GMT", 1_010), ("Max-Age=1; Max-Age=2", 1_002),
      ("Max-Age=3; Max-Age=x", 1_003),
    ] as [(String, Int64?)])
  func expiryFollowsMaxAgeThenExpires(attributes: String, at seconds: Int64?) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 1_000)).expires == seconds)
  }

  /// §5.5: "user agents MUST limit the upper bound" of a lifetime; it "SHOULD NOT be greater than 400 days".
  @Test(arguments: [
    "Max-Age=34560001", "Max-Age=99999999999999999999", "Expires=Fri, 31 Dec 9999 23:59:59 GMT",
  ])
  func noCookieLastsLongerThan400Days(attributes: String) throws {
    #expect(try #require(SetCookie.parse("a=b; " + attributes, now: 1_000)).expires == 34_561_000)
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
    ("a=1,\r\nb=2,\n c=3\n", ["a=1", "b=2", "c=3"]), ("a=1; Comment=b, c@d=e", ["a=1; Comment=b, c@d=e"]),
  ])
  func joinedFieldsAreSplit(joined: String, fields: [String]) { #expect(SetCookie.split(joined: joined) == fields) }
}

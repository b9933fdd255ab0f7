import Foundation
import Testing

@testable import URLLoadingSystem

/// Set-Cookie fields of one response, and the Cookie field of the next request: the cases of the public suites for
/// RFC 6265 (http-state, Web Platform Tests), as far as their rules differ. Where the suites expect what RFC 6265 says,
/// RFC 6265bis decides: `Docs/Decisions/0100-cookies-by-the-public-suites.md`.
@Suite struct HTTPCookieStorageLoadsTests {
  private func request(_ url: String, base: URL? = nil) throws -> CookieRequest {
    let url = try #require(URL(string: url, relativeTo: base)?.absoluteURL)
    return try #require(CookieRequest(URLRequest(url: url)))
  }

  private func sent(
    _ fields: [String], from: String = "http://home.example.org:8888/parser?case", to: String = "/result?case"
  ) throws -> String? {
    let storage = HTTPCookieStorage()
    storage.store(fields, from: try request(from), under: .always)
    return storage.field(for: try request(to, base: URL(string: from)))
  }

  /// §5.6 and §5.8.3: names, values and attributes that are none.
  @Test(
    arguments: [
      (["foo=bar"], "foo=bar"), (["foo=bar; version=1;"], "foo=bar"), (["foo=bar; other=\"1 or more\""], "foo=bar"),
      (["foo=bar", "foo=qux"], "foo=qux"), (["z=y", "a=b"], "z=y; a=b"), (["z=y, a=b"], "z=y, a=b"),
      (["z=y; foo=bar, a=b"], "z=y"), (["foo=b;max-age=3600, c=d;path=/"], "foo=b"), (["a=b", "=", "c=d"], "a=b; c=d"),
      (["a=b", "x=", "c=d"], "a=b; x=; c=d"), (["a=b", ""], "a=b"), (["a=b", "; bar"], "a=b"), (["a=b", "\t"], "a=b"),
      (["foo=bar; b,az=qux"], "foo=bar"), (["foo=bar; baz=q,ux"], "foo=bar"),
      (["t=1; domain=.parser.test; ;; ;=; ,,, ===,abc,=; abracadabra! max-age=20;=;;"], nil),
      (["$Version=1; foo=bar"], "$Version=1"), (["\"a=b\"=bar", "\"a=qux"], "\"a=qux"),
      (["foo bar=baz"], "foo bar=baz"),
      (["foo=\"  bar \"   ;"], "foo=\"  bar \""), (["foo=\"bar;baz\""], "foo=\"bar"), (["a\t=\tb\t \t;\tc"], "a=b"),
      (["a=%32%33"], "a=%32%33"), (["\u{6625}=\u{8282}; \u{56de}"], "\u{6625}=\u{8282}"),
      (["\u{0442}=2; Secure qux"], "\u{0442}=2"), (["(a=1", "@b=2", "!=3"], "(a=1; @b=2; !=3"),
      // A cookie without a name is one, and all such cookies are the same one.
      (["foo", "bar"], "bar"), (["=foo"], "foo"), (["=foo=bar", "aaa"], "aaa"), (["===a=bar"], "==a=bar"),
      (["six", " =eight", "test=six"], "eight; test=six"), (["foo;bar=baz"], "foo"),
      (["__Host-", "a=1"], "a=1"), (["=__secure-a=1"], nil),
    ] as [([String], String?)])
  func whatIsParsedIsSent(fields: [String], field: String?) throws { #expect(try sent(fields) == field) }

  /// §5.6.1, §5.6.2 and §5.7 step 24: a cookie that has ended takes the one of its name along.
  @Test(
    arguments: [
      (["a=1; max-age=10000;"], "a=1"), (["a=1; max-age=0;"], nil), (["a=1; max-age=-20"], nil),
      (["a=1; Max-Age=50,399"], "a=1"), (["a=1; expires=Thu, 10 Apr 1980 16:33:12 GMT"], nil),
      (["a=1; Expires=Fri 07 Aug 2099 08:04:19 GMT, baz=qux"], "a=1"),
      (["a=1; Expires=Fri, 07 Aug 2007 08:04:19 GMT", "b=2; Expires=Fri, 07 Aug 2099 08:04:19 GMT"], "b=2"),
      (["a=1; max-age=60", "b=1; max-age=60", "a=2; max-age=0", "c=3; max-age=0"], "b=1"),
      (["a=1", "a=2; Max-Age=x"], "a=2"), (["a=1; Max-Age=9; Expires=Thu, 10 Apr 1980 16:33:12 GMT"], "a=1"),
      (["five; max-age=2.63,"], "five"), (["a=1; Expires=Thu, 10 Apr 1980 16:33:12 GMT; Max-Age="], nil),
    ] as [([String], String?)])
  func cookiesEnd(fields: [String], field: String?) throws { #expect(try sent(fields) == field) }

  /// §5.1.3, §5.6.3 and §5.7 steps 8 to 10.
  @Test(
    arguments: [
      (["a=1; domain=home.example.org"], "home", "a=1"), (["a=1; domain=.home.example.org"], "home", "a=1"),
      (["a=1; domain=home.example.org"], "sibling", nil), (["a=1; domain=home.example.org"], "sub.home", "a=1"),
      (["a=1; domain=.home.example.org"], "sub.home", "a=1"), (["a=1; domain=sibling.example.org"], "sibling", nil),
      (["a=1; domain=.example.org"], "home", "a=1"), (["a=1; domain=example.org"], "home", "a=1"),
      (["a=1; domain=..home.example.org"], "home", nil), (["a=1; domain=home..example.org"], "home", nil),
      (["a=1; domain=  .home.example.org"], "home", "a=1"), (["a=1; domain=  .  home.example.org"], "home", nil),
      (["a=1; domain=home.example.org."], "home", nil), (["a=1; domain=home.example.org.."], "home", nil),
      (["a=1; domain=home.example.org ."], "home", nil), (["a=1; domain=.org"], "home", nil),
      (["a=1; domain=..org"], "home", nil), (["a=1; domain=.org."], "home", nil), (["a=1; domain=org"], "home", nil),
      (["a=1; domain=home.example.org", "b=2; domain=.home.example.org"], "home", "a=1; b=2"),
      (["b=2; domain=.example.org", "a=1; domain=home.example.org"], "home", "b=2; a=1"),
      (["a=1; domain=\"home.example.org\""], "home", nil), (["a=1; domain=home.example.org:8888"], "home", nil),
      (["a=1; domain=.example.org; domain=home.example.org"], "sibling", nil),
      (["a=1; domain=home.example.org; domain=.example.org"], "sibling", "a=1"),
      (["a=1; domain=home.eXaMpLe.org"], "home", "a=1"), (["a=1; domain=home.example.org"], "hoMe", "a=1"),
      (["a=1; domain=sub.home.example.org"], "sub.home", nil), (["a=1"], "sub.home", nil), (["a=1"], "home", "a=1"),
      (["a=1; domain=home.example.org; domain=home.example.com"], "home", nil),
      (["a=1; domain=home.example.com; domain=home.example.org"], "home", "a=1"),
      (["a=1; domain="], "home", "a=1"), (["a=1; domain="], "sub.home", nil),
      (["a=1; domain=example.org; domain="], "home", "a=1"), (["a=1; domain=example.org; domain="], "sub.home", nil),
      (["a=1; domain=home.example.org", "a=2; domain=.home.example.org"], "home", "a=2"),
      (["a=1", "a=2; domain=home.example.org"], "home", "a=1; a=2"), (["a=1; domain=example"], "home", nil),
      (["a=1; domain=example.org; domain=\(String(repeating: "a", count: 1_024)).com"], "home", "a=1"),
    ] as [([String], String, String?)])
  func domainsDecide(fields: [String], host: String, field: String?) throws {
    #expect(try sent(fields, to: "http://\(host).example.org:8888/result") == field)
  }

  /// §5.1.4 and §5.6.4.
  @Test(
    arguments: [
      ("/r", "/r", true), ("/", "/r", true), ("", "/r", true), ("/r/foo", "/r", false), ("/r/foo", "/r/foo?q", true),
      ("/r/foo", "/r/bar", false), ("/r/foo/qux", "/r/foo", false), ("/r/foo/qux", "/r/foo/qux", true),
      ("/r/foo/qux/", "/r/foo/qux", false), ("/r/foo/qux/", "/r/foo/qux/", true), ("/r/foo/", "/r/foo/qux", true),
      ("/r/foo/", "/r/foo//qux", true), ("/r/foo/", "/r/fooqux", false), ("/R", "/r", false),
      ("/r/qux?", "/r/qux?q", false), ("/r/qux#", "/r/qux", false), ("\"/r/qux;\"", "/r/qux", true),
      ("/r/f%6Fo/bar", "/r/foo/bar", false), ("/r/f%6fo/bar", "/r/f%6fo/bar", true), ("/r/zz a", "/r/zz%20a", false),
      ("/r/zz%20a", "/r/zz%20a/b", true), ("/r/\u{b8}", "/r/%C2%B8", false), ("/r/echo", "/r/echo.py", false),
      ("r", "/other", true), ("/dog; path=", "/r", true), ("; path=/dog", "/r", false), ("    /r   ", "/r", true),
      ("/r; path=/\(String(repeating: "e", count: 1_024))", "/r", true), ("/q; path=/r", "/r", true),
    ])
  func pathsDecide(attribute: String, path: String, isSent: Bool) throws {
    #expect(try sent(["a=1; path=" + attribute], to: path) == (isSent ? "a=1" : nil))
  }

  /// §5.8.3 step 2: longer paths first, then earlier cookies.
  @Test func fieldsHaveTheLongerPathsFirst() throws {
    let fields = [
      "k=0;", "k=1; path=/r", "l=2; path=/", "k=3; path=/bar", "k=4; domain=.example.org",
      "k=5; domain=.example.org; path=/r/foo", "k=6; path=/r/",
    ]
    #expect(try sent(fields, to: "/r/foo/baz?q") == "k=5; k=6; k=1; k=0; l=2; k=4")
  }

  /// §5.6.5, §5.7 steps 13 and 20 to 22, by the scheme of the place.
  @Test(
    arguments: [
      ("a=1; Secure", nil, "a=1"), ("a=1; seCURe=x", nil, "a=1"), ("a=1; \"Secure\"", "a=1", "a=1"),
      ("__Secure-a=1; Secure", nil, "__Secure-a=1"), ("__Secure-a=1", nil, nil),
      ("__Host-a=1; Secure; Path=/", nil, "__Host-a=1"), ("__Host-a=1; Secure", nil, nil),
      ("__Host-a=1; Secure; Path=", nil, nil), ("__Host-a=1; Secure; Path", nil, nil),
      ("__Host-a=1; Secure; Path=/; Domain=home.example.org", nil, nil),
      ("__Host-a=1; Secure; Path=/; Domain=", nil, "__Host-a=1"), ("__hOsT-a=1; Path=/", nil, nil),
      ("a=1; SameSite=None", nil, nil), ("a=1; SameSite=None; Secure", nil, "a=1"),
      ("a=1; SameSite=Strict", "a=1", "a=1"), ("a=1; SameSite=Unknown", "a=1", "a=1"), ("a=1; Partitioned", nil, nil),
      ("a=1; Partitioned; Secure", nil, "a=1"),
    ] as [(String, String?, String?)])
  func schemesDecide(cookie: String, plain: String?, secure: String?) throws {
    #expect(try sent([cookie], from: "http://home.example.org/parser") == plain)
    #expect(try sent([cookie], from: "https://home.example.org/parser") == secure)
  }

  /// §5.5 and §5.6 step 5: together 4096 octets.
  @Test(arguments: [
    (2_048, 2_048, true), (4_096, 0, true), (1, 4_095, true), (0, 4_096, true), (4_097, 0, false), (4_096, 1, false),
    (1, 4_096, false), (0, 4_097, false),
  ])
  func namesAndValuesHaveALimit(name: Int, value: Int, isKept: Bool) throws {
    let pair = String(repeating: "n", count: name) + "=" + String(repeating: "v", count: value)
    #expect(try sent([pair]) == (isKept ? (name == 0 ? String(pair.dropFirst()) : pair) : nil))
  }

  /// Hosts as RFC 3986 writes them, with the root's dot at the end: another host than without it, and no less guarded.
  @Test(
    arguments: [
      ("https://www.example.co.uk./", "a=1; domain=co.uk.", nil),
      ("https://www.example.co.uk./", "a=1; domain=example.co.uk.", "a=1"), ("https://me.github.io./", "a=1", "a=1"),
      ("https://me.github.io./", "a=1; domain=github.io.", nil), ("https://a.uk./", "a=1; domain=uk.", nil),
    ] as [(String, String, String?)])
  func aDotAtTheEndOpensNoPublicSuffix(url: String, cookie: String, field: String?) throws {
    #expect(try sent([cookie], from: url, to: url) == field)
  }
}

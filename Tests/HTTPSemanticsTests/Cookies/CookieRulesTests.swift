import HTTPSemantics
import Testing

@Suite struct CookieRulesTests {
  /// RFC 6265bis §5.1.3.
  @Test(arguments: [
    ("example.com", "example.com", true), ("www.example.com", "example.com", true),
    ("badexample.com", "example.com", false),
    ("example.com", "www.example.com", false), ("1.2.3.4", "3.4", false), ("1.2.3.4", "1.2.3.4", true),
    ("a.b", "", false),
  ])
  func domainMatch(host: String, domain: String, matches: Bool) {
    #expect(CookieRules.domainMatches(host: host, domain: domain) == matches)
  }

  /// §5.1.4.
  @Test(arguments: [
    ("/", "/"), ("", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c?d", "/a/b"), ("a/b", "/"),
  ])
  func defaultPath(path: String, directory: String) { #expect(CookieRules.defaultPath(of: path) == directory) }

  /// §5.1.4.
  @Test(arguments: [
    ("/", "/", true), ("/a", "/", true), ("/foo", "/foo", true), ("/foo/bar", "/foo", true),
    ("/foo/bar", "/foo/", true),
    ("/foobar", "/foo", false), ("/", "/foo", false), ("/Foo", "/foo", false),
  ])
  func pathMatch(path: String, cookiePath: String, matches: Bool) {
    #expect(CookieRules.pathMatches(path: path, cookiePath: cookiePath) == matches)
  }

  /// §5.7 steps 4 to 6.
  @Test(
    arguments: [
      (nil, "www.example.com", "www.example.com"), ("example.com", "www.example.com", ".example.com"),
      ("www.example.com", "www.example.com", ".www.example.com"), ("example.org", "www.example.com", nil),
      ("com", "example.com", nil), ("localhost", "localhost", "localhost"), ("1.2.3.4", "1.2.3.4", "1.2.3.4"),
      ("3.4", "1.2.3.4", nil), ("exämple.com", "exämple.com", nil),
    ] as [(String?, String, String?)])
  func scopeFollowsTheDomainAttribute(domain: String?, host: String, scope: String?) {
    #expect(CookieRules.scope(domainAttribute: domain, host: host) == scope)
  }

  /// §5.7 steps 20 and 21.
  @Test(
    arguments: [
      ("a", false, true, nil, true), ("__Secure-a", true, true, nil, true), ("__SECURE-a", false, false, "/", false),
      ("__Host-a", true, false, "/", true), ("__host-a", true, true, "/", false),
      ("__Host-a", true, false, "/a", false),
      ("__Host-a", false, false, "/", false), ("__Host-a", true, false, nil, false),
    ] as [(String, Bool, Bool, String?, Bool)])
  func securePrefixesAreEnforced(name: String, isSecure: Bool, hasDomain: Bool, path: String?, isKept: Bool) {
    #expect(
      CookieRules.keepsPrefixPromise(name: name, isSecure: isSecure, hasDomain: hasDomain, path: path) == isKept)
  }

  @Test(arguments: [
    ("a.b.c", ["a.b.c", ".a.b.c", ".b.c", ".c"]), ("localhost", ["localhost", ".localhost"]), ("1.2.3.4", ["1.2.3.4"]),
    ("::1", ["::1"]),
  ])
  func everyDomainAbove(host: String, scopes: [String]) { #expect(CookieRules.scopes(for: host) == scopes) }
}

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

  /// §5.7 steps 8 to 10.
  @Test(
    arguments: [
      (nil, "www.example.com", .host), ("example.com", "www.example.com", .domain),
      ("www.example.com", "www.example.com", .domain), ("example.org", "www.example.com", .refused),
      ("sub.www.example.com", "www.example.com", .refused), ("ample.com", "example.com", .refused),
      ("com", "example.com", .refused), ("co.uk", "example.co.uk", .refused), ("co.uk", "co.uk", .host),
      ("example.co.uk", "www.example.co.uk", .domain), ("localhost", "localhost", .host),
      ("1.2.3.4", "1.2.3.4", .host), ("3.4", "1.2.3.4", .refused), ("exämple.com", "exämple.com", .refused),
      (".example.com", "www.example.com", .refused), ("", "example.com", .refused),
    ] as [(String?, String, CookieScope)])
  func scopeFollowsTheDomainAttribute(domain: String?, host: String, scope: CookieScope) {
    #expect(CookieRules.scope(domain: domain, host: host, suffixes: FewSuffixes()) == scope)
  }

  /// Any domain may be a public suffix where no list says otherwise.
  @Test(
    arguments: [
      (nil, "www.example.com", .host), ("example.com", "www.example.com", .host), ("github.io", "a.github.io", .host),
      ("www.example.com", "www.example.com", .host), ("com", "example.com", .refused),
      ("example.org", "www.example.com", .refused),
    ] as [(String?, String, CookieScope)])
  func withoutAListACookieIsForItsHostAlone(domain: String?, host: String, scope: CookieScope) {
    #expect(CookieRules.scope(domain: domain, host: host, suffixes: nil) == scope)
  }

  /// §5.7 steps 21 to 23.
  @Test(
    arguments: [
      ("a", "", false, true, nil, true), ("__Secure-a", "", true, true, nil, true),
      ("__SECURE-a", "", false, false, "/", false), ("__secure-a", "", true, true, "/a", true),
      ("__Host-a", "", true, false, "/", true), ("__host-a", "", true, true, "/", false),
      ("__Host-a", "", true, false, "/a", false), ("__Host-a", "", false, false, "/", false),
      ("__Host-a", "", true, false, nil, false), ("__Hosta", "", false, true, nil, true),
      ("", "__Host-a=b", true, false, "/", false), ("", "__secure-", true, false, "/", false),
      ("", "a", false, true, nil, true),
    ] as [(String, String, Bool, Bool, String?, Bool)])
  func securePrefixesAreEnforced(
    name: String, value: String, isSecure: Bool, hasDomain: Bool, path: String?, isKept: Bool
  ) {
    #expect(
      CookieRules.keepsPrefixPromise(name: name, value: value, isSecure: isSecure, hasDomain: hasDomain, path: path)
        == isKept)
  }

  /// §5.2: the registrable domain and the scheme decide.
  @Test(arguments: [
    ("www.example.com", "api.example.com", true), ("example.com", "www.example.com", true),
    ("a.co.uk", "b.co.uk", false), ("www.a.co.uk", "a.co.uk", true), ("co.uk", "a.co.uk", false),
    ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "5.2.3.4", false), ("localhost", "localhost", true),
    ("example.com", "example.org", false),
  ])
  func hostsOfOneRegistrableDomainAreOneSite(host: String, other: String, isSame: Bool) {
    #expect(CookieRules.isSameSite(host, other, suffixes: FewSuffixes()) == isSame)
    #expect(CookieRules.isSameSite(host, other, suffixes: nil) == (host == other))
  }

  @Test func schemesMakeDifferentSites() {
    let secure = CookieSite(host: "www.example.com", isSecure: true, suffixes: FewSuffixes())
    let insecure = CookieSite(host: "www.example.com", isSecure: false, suffixes: FewSuffixes())
    #expect(secure != insecure)
    #expect(secure.text == "https://example.com")
    #expect(insecure.text == "http://example.com")
  }

  /// §5.8.3 step 1, §5.6.7.1 and §5.7 step 19.
  @Test(
    arguments: [
      (nil, false, true, true), (SetCookie.SameSite.none, false, true, true), (.lax, false, false, false),
      (.lax, true, true, true), (.strict, false, false, false), (.strict, true, false, true),
    ] as [(SetCookie.SameSite?, Bool, Bool, Bool)])
  func sameSiteDecidesAcrossSites(policy: SetCookie.SameSite?, isNavigation: Bool, isSent: Bool, isStored: Bool) {
    #expect(CookieRules.isSentCrossSite(policy, isSafeNavigation: isNavigation) == isSent)
    #expect(CookieRules.isStoredCrossSite(policy, isNavigation: isNavigation) == isStored)
  }

  /// §5.8.3 step 4.
  @Test(
    arguments: [
      ([], nil), ([("a", "1")], "a=1"), ([("a", "1"), ("b", "")], "a=1; b="), ([("", "x"), ("a", "1")], "x; a=1"),
    ] as [([(String, String)], String?)])
  func cookiesAreSentInOneField(cookies: [(String, String)], value: String?) {
    var field = CookieField()
    for (name, value) in cookies { field.add(name: name, value: value) }
    #expect(field.value == value)
  }

  @Test(arguments: [
    ("a.b.c", ["a.b.c", ".a.b.c", ".b.c", ".c"]), ("localhost", ["localhost", ".localhost"]), ("1.2.3.4", ["1.2.3.4"]),
    ("::1", ["::1"]),
  ])
  func everyDomainAbove(host: String, scopes: [String]) { #expect(CookieRules.scopes(for: host) == scopes) }
}

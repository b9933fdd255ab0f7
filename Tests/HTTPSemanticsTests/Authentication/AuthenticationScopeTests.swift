import HTTPSemantics
import Testing

@Suite struct AuthenticationScopeTests {
  /// RFC 7617 §2.2.
  @Test(
    arguments: [
      ("http://example.com/docs/index.html", "http://example.com/docs/", true),
      ("http://example.com/docs/index.html", "http://example.com/docs/test.doc", true),
      ("http://example.com/docs/index.html", "http://example.com/docs/?page=1", true),
      ("http://example.com/docs/index.html", "http://EXAMPLE.com:80/docs/a/b", true),
      ("http://example.com/docs/index.html", "http://other.example.com/docs/", false),
      ("http://example.com/docs/index.html", "https://example.com/docs/", false),
      ("http://example.com/docs/index.html", "http://example.com:8080/docs/", false),
      ("http://example.com/docs/index.html", "http://example.com/docs", false),
      ("http://example.com/docs/index.html", "http://example.com/docs2/", false),
      ("http://example.com/docs/index.html", "http://example.com/docs/../secret", false),
      ("http://example.com/docs/index.html", "http://example.com/docs/%2E%2e/secret", false),
      ("http://example.com/docs/index.html", "http://example.com/a/../docs/b", true),
      ("http://example.com/docs/a?b=/c/", "http://example.com/docs/d", true),
      ("http://example.com/docs/a?b=/c/", "http://example.com/docs/a?b=/d/", true),
      ("http://example.com", "http://example.com/a/b", true), ("http://example.com/a", "http://example.com", true),
      ("http://example.com/a/b/", "http://example.com/a/", false),
      ("http://u:p@example.com/a/", "http://example.com/a/b", true),
      ("http://example.com/a/", "ftp://example.com/a/", false), ("http://example.com/a/", "/a/", false),
    ])
  func basicCoversPathsBelowTheChallengedOne(challenged: String, url: String, isCovered: Bool) {
    let scope = AuthenticationScope(basicChallengeAt: URIReference(challenged))
    #expect(scope?.contains(URIReference(url)) == isCovered)
  }

  /// As a request line has it: without scheme and authority.
  @Test(
    arguments: [
      ("/docs/a", true), ("/docs/a.b/c?d=/../e", true), ("/docs/./a", true), ("/a/../docs/b", true), ("/docs", false),
      ("/docs2/", false), ("/docs/../a", false), ("/docs/%2E%2e/a", false), ("/docs/.%2e/a", false),
      ("//docs/docs/a", false), ("//example.com/docs/../docs/a", false), ("?/docs/", false), ("", false),
    ])
  func requestTargetsAreJudgedByTheirPaths(target: String, isCovered: Bool) {
    let scope = AuthenticationScope(basicChallengeAt: URIReference("http://example.com/docs/index.html"))
    #expect(scope?.contains(requestTarget: target) == isCovered)
  }

  /// RFC 7616 §3.3.
  @Test(
    arguments: [
      ("", "https://example.com/x", true), ("", "https://example.com/a/b?c", true), ("", "http://example.com/a", false),
      ("", "https://sub.example.com/a", false), ("/docs", "https://example.com/docs/a", true),
      // A prefix of the text, not of the segments.
      ("/docs", "https://example.com/docs2", true), ("/docs/", "https://example.com/docs2", false),
      ("/docs/ /more", "https://example.com/more/a", true), ("/docs/  /more", "https://example.com/other", false),
      ("https://example.com/docs", "https://example.com/docs", true), ("sub/", "https://example.com/a/sub/c", true),
      ("sub/", "https://example.com/sub/c", false), ("/docs/", "https://example.com/docs/../x", false),
      ("https://example.com", "https://example.com/any", true), ("/?a=", "https://example.com/?a=b", true),
      // Another origin never gets the credential; what it shares the list with still does.
      ("https://other.example/", "https://other.example/a", false),
      ("https://other.example/", "https://example.com/a/b", false),
      ("https://other.example/ /b", "https://example.com/b", true),
      ("http://example.com/", "https://example.com/", false),
    ])
  func digestCoversItsDomain(domain: String, url: String, isCovered: Bool) throws {
    let challenge = try DigestChallenge(
      #require(AuthenticationChallenge.parse(["Digest nonce=n, domain=\"\(domain)\""]).first))
    let scope = AuthenticationScope(challenge, at: URIReference("https://example.com/a/b"))
    #expect(scope?.contains(URIReference(url)) == isCovered)
  }

  @Test func onlyWebURLsHaveAScope() {
    #expect(AuthenticationScope(basicChallengeAt: URIReference("ftp://example.com/")) == nil)
    #expect(AuthenticationScope(basicChallengeAt: URIReference("/a")) == nil)
  }
}

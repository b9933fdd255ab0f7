import HTTPSemantics
import Testing

@Suite struct RedirectRulesTests {
  func decide(
    _ status: Int = 302, method: String = "GET", hasBody: Bool = false, from url: String = "https://a.org/dir/page",
    to locations: [String], after count: Int = 0
  ) -> RedirectDecision {
    RedirectRules.decide(
      status: status, method: method, hasBody: hasBody, url: url, locations: locations, redirectCount: count)
  }

  func follow(_ decision: RedirectDecision) throws -> Redirect {
    guard case .follow(let redirect) = decision else { throw Unfollowed(decision: decision) }
    return redirect
  }

  struct Unfollowed: Error { var decision: RedirectDecision }

  @Test(arguments: [100, 200, 201, 204, 299, 300, 304, 309, 399, 401, 500])
  func otherStatusesAreResults(_ status: Int) {
    #expect(decide(status, to: ["/x"]) == .notARedirect)
  }

  /// RFC 9110 §15.4.2–§15.4.4, §15.4.8, §15.4.9.
  @Test(arguments: [
    (301, "GET", false, "GET", false), (301, "POST", true, "GET", false), (301, "PUT", true, "PUT", true),
    (301, "HEAD", false, "HEAD", false), (302, "POST", true, "GET", false), (302, "DELETE", false, "DELETE", false),
    (302, "PATCH", true, "PATCH", true), (302, "post", true, "post", true), (303, "POST", true, "GET", false),
    (303, "PUT", true, "GET", false), (303, "HEAD", false, "GET", false), (303, "GET", true, "GET", false),
    (303, "DELETE", false, "GET", false), (307, "POST", true, "POST", true), (307, "GET", false, "GET", false),
    (305, "GET", false, "GET", false), (306, "POST", true, "POST", true), (308, "POST", true, "POST", true),
    (308, "PUT", true, "PUT", true), (301, "POST", false, "GET", false),
  ])
  func methods(status: Int, method: String, hasBody: Bool, newMethod: String, keepsBody: Bool) throws {
    let redirect = try follow(decide(status, method: method, hasBody: hasBody, to: ["/x"]))
    #expect(redirect.method == newMethod)
    #expect(redirect.keepsBody == keepsBody)
    let dropsBody = hasBody && !keepsBody
    for name in [
      "Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Location",
      "Transfer-Encoding", "Digest", "Last-Modified",
    ] {
      #expect(redirect.removedFields.contains(name) == (dropsBody || method != newMethod), "\(name)")
    }
  }

  @Test(arguments: [
    ("https://a.org/x", false), ("https://A.ORG:443/x", false), ("https://a.org.:443/x", true), ("/x", false),
    ("//b.org/x", true), ("https://a.org:444/", true), ("http://a.org/", true), ("https://www.a.org/", true),
    ("https://user@a.org/", false), ("https://a.org@b.org/", true),
  ])
  func credentialsStayWithTheirOrigin(location: String, changes: Bool) throws {
    let redirect = try follow(decide(to: [location]))
    #expect(redirect.changesOrigin == changes)
    for name in ["Authorization", "Cookie", "Proxy-Authorization", "Host"] {
      #expect(redirect.removedFields.contains(name) == changes, "\(name)")
    }
  }

  /// RFC 9110 §10.1.3.
  @Test(arguments: [
    ("https://a.org/", "http://a.org/", true), ("http://a.org/", "https://a.org/", false),
    ("https://a.org/", "https://b.org/", false), ("http://a.org/", "http://b.org/", false),
  ])
  func refererStaysBehindTLS(from: String, to: String, removed: Bool) throws {
    #expect(try follow(decide(from: from, to: [to])).removedFields.contains("Referer") == removed)
  }

  @Test(arguments: [
    ("https://a.org/d/p", "q", "https://a.org/d/q"), ("https://a.org/d/p?x", "?y", "https://a.org/d/p?y"),
    // RFC 9110 §10.2.2
    ("https://a.org/p#f", "/q", "https://a.org/q#f"), ("https://a.org/p#f", "/q#g", "https://a.org/q#g"),
    ("https://a.org/p#f", "/q#", "https://a.org/q#"), ("https://a.org/p", "/q", "https://a.org/q"),
    // what servers send
    ("https://a.org/", "/with space", "https://a.org/with%20space"),
    ("https://a.org/", "/é?ü", "https://a.org/%C3%A9?%C3%BC"),
    ("https://a.org/", "  /q\t", "https://a.org/q"), ("https://a.org/", "HTTP://B.org", "HTTP://B.org"),
    ("https://a.org/", "/%7Euser/%", "https://a.org/%7Euser/%25"),
    ("https://a.org/d/p", "../../../x", "https://a.org/x"),
  ])
  func targets(from: String, location: String, target: String) throws {
    #expect(try follow(decide(from: from, to: [location])).target == target)
  }

  @Test(arguments: [301, 302, 303, 305, 306, 307, 308])
  func aRedirectNeedsOneTarget(_ status: Int) throws {
    #expect(decide(status, to: []) == (status < 305 || status == 307 ? .missingLocation : .notARedirect))
    #expect(decide(status, to: [""]) == .missingLocation)
    #expect(decide(status, to: [" \t"]) == .missingLocation)
    #expect(decide(status, to: ["/a", "/b"]) == .missingLocation)
    #expect(try follow(decide(status, to: ["/a", "/a "])).target == "https://a.org/a")
  }

  @Test func sixteenAreFollowed() throws {
    _ = try follow(decide(to: ["/x"], after: 0))
    _ = try follow(decide(to: ["/x"], after: 15))
    #expect(decide(to: ["/x"], after: 16) == .tooMany)
    #expect(decide(to: ["/x"], after: .max) == .tooMany)
    #expect(decide(200, to: ["/x"], after: 16) == .notARedirect)
  }

  @Test(arguments: [
    ("/b/", "http+unix://%2Frun%2Fa.sock/b/"), ("HTTP+UNIX://%2Frun%2Fa.sock/b", "HTTP+UNIX://%2Frun%2Fa.sock/b"),
  ])
  func aSocketLeadsToItself(location: String, target: String) throws {
    let redirect = try follow(decide(from: "http+unix://%2Frun%2Fa.sock/a", to: [location]))
    #expect(redirect.target == target && !redirect.changesOrigin)
    #expect(!redirect.removedFields.contains("Authorization"))
  }

  @Test(arguments: [
    ("http://localhost/a", "http+unix://%2Frun%2Fa.sock/"),
    ("http+unix://%2Frun%2Fa.sock/", "http+unix://%2Frun%2Fb.sock/"),
    ("http+unix://%2Frun%2Fa.sock/", "ftp://%2Frun%2Fa.sock/"), ("http+unix:///a", "/b"),
  ])
  func noServerLeadsToTheSocketOfAnother(url: String, location: String) {
    guard case .unsupportedTarget(let redirect) = decide(from: url, to: [location]) else {
      Issue.record("\(location) gave \(decide(from: url, to: [location]))")
      return
    }
    #expect(redirect.changesOrigin && redirect.removedFields.contains("Authorization"))
  }

  @Test(arguments: [
    "ftp://a.org/", "javascript:alert(1)", "file:///etc/passwd", "data:,x", "http:///x", "https:", "http:x",
  ])
  func otherSchemesAreNotFollowed(_ location: String) {
    guard case .unsupportedTarget(let redirect) = decide(to: [location]) else {
      Issue.record("\(location) gave \(decide(to: [location]))")
      return
    }
    // Whatever becomes of the proposal, no secret is in it.
    #expect(redirect.changesOrigin)
    #expect(["Authorization", "Cookie", "Referer"].allSatisfy { redirect.removedFields.contains($0) })
  }
}

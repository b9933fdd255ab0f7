import Testing

@testable import WebPage

/// Which requests the server of the web page answers.
@Suite struct WebAccessTests {
  typealias Request = WebAccess.Request

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// 200 stands for an answer, 303 for a sign-in.
    let status: Int
    let request: Request

    init(_ description: String, _ status: Int, _ change: (inout Request) -> Void) {
      testDescription = description
      self.status = status
      var request = Request()
      request.host = "127.0.0.1:8123"
      request.path = "/secret/"
      change(&request)
      self.request = request
    }
  }

  /// A request of the page itself, as a browser sends it.
  private static func action(_ request: inout Request) {
    request.isGet = false
    request.path = "/secret/transfers/17/cancel"
    request.cookies = "urlsession-8123=cookie"
    request.origin = "http://127.0.0.1:8123"
    request.site = "same-origin"
    request.contentType = "application/json"
  }

  static let cases = [
    Case("the printed link", 303) {
      $0.path = "/"
      $0.token = "link"
    },
    Case("the printed link on another site's page", 303) {
      $0.path = "/"
      $0.token = "link"
      $0.site = "cross-site"
    },
    Case("another token", 401) {
      $0.path = "/"
      $0.token = "linK"
    },
    Case("a part of the token", 401) {
      $0.path = "/"
      $0.token = "lin"
    },
    Case("another token with the cookie", 401) {
      $0.path = "/"
      $0.token = "linK"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the cookie without the secret path", 401) {
      $0.path = "/"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the cookie and another path", 401) {
      $0.path = "/secreT/"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the cookie and a longer path", 401) {
      $0.path = "/secrets/"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the secret path without its slash", 401) {
      $0.path = "/secret"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the secret path escaped", 401) {
      $0.path = "/%73ecret/"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("the page reads", 200) {
      $0.path = "/secret/transfers"
      $0.cookies = "urlsession-8123=cookie"
      $0.site = "same-origin"
    },
    Case("the user opens the page", 200) {
      $0.cookies = "urlsession-8123=cookie"
      $0.site = "none"
    },
    Case("a page on another port reads", 403) {
      $0.path = "/secret/transfers"
      $0.cookies = "urlsession-8123=cookie"
      $0.site = "same-site"
    },
    Case("another site reads", 403) {
      $0.path = "/secret/transfers"
      $0.cookies = "urlsession-8123=cookie"
      $0.site = "cross-site"
    },
    Case("the token for another path", 401) {
      $0.token = "link"
      $0.path = "/secret/transfers"
    },
    Case("the cookie", 200) { $0.cookies = "urlsession-8123=cookie" },
    Case("the cookie among others", 200) { $0.cookies = "a=b; urlsession-8123=cookie; c=d" },
    Case("an old cookie before ours", 200) { $0.cookies = "urlsession-8123=old; urlsession-8123=cookie" },
    Case("the cookie of another port", 401) { $0.cookies = "urlsession-8124=cookie" },
    Case("another cookie", 401) { $0.cookies = "urlsession-8123=cookies" },
    Case("the link's token as a cookie", 401) { $0.cookies = "urlsession-8123=link" },
    Case("no cookie", 401) { _ in },
    Case("localhost", 200) {
      $0.host = "LocalHost:8123"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("IPv6", 200) {
      $0.host = "[::1]:8123"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("a name that resolves to a loopback address", 421) {
      $0.host = "evil.example:8123"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("another port", 421) {
      $0.host = "127.0.0.1:80"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("no host", 421) {
      $0.host = nil
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("an action", 200) { action(&$0) },
    Case("an action from a browser that names no site", 200) {
      action(&$0)
      $0.site = nil
    },
    Case("an action without a cookie", 401) {
      action(&$0)
      $0.cookies = nil
    },
    Case("an action of another origin", 403) {
      action(&$0)
      $0.origin = "http://evil.example"
    },
    Case("an action of another port", 403) {
      action(&$0)
      $0.origin = "http://127.0.0.1:8124"
    },
    Case("an action under another of our names", 403) {
      action(&$0)
      $0.origin = "http://localhost:8123"
    },
    Case("an action without an origin", 403) {
      action(&$0)
      $0.origin = nil
    },
    Case("an action of a page without an origin", 403) {
      action(&$0)
      $0.origin = "null"
    },
    Case("an action that another site sends", 403) {
      action(&$0)
      $0.site = "same-site"
    },
    Case("a form", 415) {
      action(&$0)
      $0.contentType = "application/x-www-form-urlencoded"
    },
    Case("metrics with their token", 200) {
      $0.path = "/metrics"
      $0.authorization = "Bearer metrics"
    },
    Case("metrics with another token", 401) {
      $0.path = "/metrics"
      $0.authorization = "Bearer link"
    },
    Case("metrics with the cookie", 200) {
      $0.path = "/secret/metrics"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("metrics with the cookie and without the secret path", 401) {
      $0.path = "/metrics"
      $0.cookies = "urlsession-8123=cookie"
    },
    Case("transfers with the token of the metrics", 401) {
      $0.path = "/secret/transfers"
      $0.authorization = "Bearer metrics"
    },
    Case("an action with the token of the metrics", 401) {
      action(&$0)
      $0.cookies = nil
      $0.authorization = "Bearer metrics"
    },
    Case("metrics under a foreign name", 421) {
      $0.host = "evil.example:8123"
      $0.path = "/metrics"
      $0.authorization = "Bearer metrics"
    },
  ]

  private func access(metricsToken: String? = "metrics") -> WebAccess {
    WebAccess(port: 8123, secrets: .init(link: "link", path: "secret", session: "cookie"), metricsToken: metricsToken)
  }

  @Test(arguments: cases) func answersOnlyTheBrowserOfTheLink(_ test: Case) {
    var access = access()
    switch access.verdict(on: test.request) {
    case .allowed(let path, _):
      #expect(test.status == 200)
      #expect(!path.contains("secret") && path.hasPrefix("/"))
    case .signedIn(let cookie, let page):
      #expect(test.status == 303)
      #expect(cookie == "urlsession-8123=cookie; Path=/secret/; HttpOnly; SameSite=Strict")
      #expect(page == "/secret/")
    case .refused(let status, let sentence):
      #expect(test.status == status)
      #expect(!sentence.contains("secret"))
    }
  }

  @Test func theLinkIsGoodForOneSignIn() {
    var access = access()
    var request = Request()
    request.host = "127.0.0.1:8123"
    request.token = "link"
    guard case .signedIn = access.verdict(on: request), case .refused(401, _) = access.verdict(on: request) else {
      Issue.record("the link was not good once")
      return
    }
    request.token = nil
    request.path = "/secret/page.js"
    request.cookies = "urlsession-8123=cookie"
    #expect(access.verdict(on: request) == .allowed(path: "/page.js", hasCookie: true))
  }

  @Test func withoutATokenForMetricsNoneOpensThem() {
    var access = access(metricsToken: nil)
    var request = Request()
    request.host = "127.0.0.1:8123"
    request.path = "/metrics"
    request.authorization = "Bearer "
    guard case .refused(401, _) = access.verdict(on: request) else {
      Issue.record("no token was good")
      return
    }
  }

  @Test func filesAreInTheProgram() throws {
    let paths = WebPageFile.all.map(\.path)
    #expect(paths == ["/", "/page.css", "/page.js"])
    let page = try #require(WebPageFile.all.first.map { String(decoding: $0.bytes, as: UTF8.self) })
    // The policy forbids scripts and styles in the page itself.
    #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick"))
    #expect(WebPageFile.all.allSatisfy { !$0.bytes.isEmpty })
  }
}

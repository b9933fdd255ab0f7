import Foundation
import Testing
import URLLoadingSystem

@Suite struct HTTPCookieTests {
  let required: [HTTPCookiePropertyKey: Any] = [.name: "n", .value: "v", .domain: ".example.com", .path: "/"]

  @Test func aCookieOfTheRequiredPropertiesEndsWithTheSession() throws {
    let cookie = try #require(HTTPCookie(properties: required))
    #expect(cookie.name == "n")
    #expect(cookie.value == "v")
    #expect(cookie.domain == ".example.com")
    #expect(cookie.path == "/")
    #expect(cookie.version == 0)
    #expect(cookie.expiresDate == nil)
    #expect(cookie.isSessionOnly)
    #expect(!cookie.isSecure)
    #expect(!cookie.isHTTPOnly)
    #expect(cookie.comment == nil)
    #expect(cookie.commentURL == nil)
    #expect(cookie.portList == nil)
    #expect(cookie.sameSitePolicy == nil)
  }

  @Test(arguments: [HTTPCookiePropertyKey.name, .value, .path, .domain]) func eachRequiredKeyIs(
    key: HTTPCookiePropertyKey
  ) {
    var properties = required
    properties[key] = nil
    #expect(HTTPCookie(properties: properties) == nil)
  }

  @Test(
    arguments: [
      (.name, "a=b"), (.name, "a;b"), (.value, "a\r\nb"), (.value, "a;b"), (.path, "/\u{0}"),
      (.domain, "a;b"),
    ] as [(HTTPCookiePropertyKey, String)])
  func refusesWhatWouldBreakTheHeader(key: HTTPCookiePropertyKey, value: String) {
    var properties = required
    properties[key] = value
    #expect(HTTPCookie(properties: properties) == nil)
  }

  @Test func theOriginGivesTheDomain() throws {
    var properties = required
    properties[.domain] = nil
    properties[.originURL] = "https://WWW.example.com/x"
    #expect(try #require(HTTPCookie(properties: properties)).domain == "www.example.com")
    properties[.originURL] = URL(string: "https://other.example.com")
    #expect(try #require(HTTPCookie(properties: properties)).domain == "other.example.com")
  }

  @Test func optionalPropertiesAreReadByVersion() throws {
    let date = Date(timeIntervalSince1970: 1_900_000_000)
    var properties = required
    properties[.expires] = date
    properties[.secure] = "TRUE"
    properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteStrict
    properties[.maximumAge] = "5"
    properties[HTTPCookiePropertyKey("HttpOnly")] = true
    let old = try #require(HTTPCookie(properties: properties))
    #expect(old.expiresDate == date)
    #expect(!old.isSessionOnly && old.isSecure && old.isHTTPOnly)
    #expect(old.sameSitePolicy == .sameSiteStrict)

    properties[.version] = "1"
    properties[.port] = "80, 8080"
    properties[.comment] = "c"
    properties[.commentURL] = "https://example.com/c"
    let new = try #require(HTTPCookie(properties: properties))
    #expect(abs(try #require(new.expiresDate).timeIntervalSinceNow - 5) < 4)
    #expect(new.portList == [80, 8080])
    #expect(new.comment == "c")
    #expect(new.commentURL == URL(string: "https://example.com/c"))

    properties[.discard] = "TRUE"
    let discarded = try #require(HTTPCookie(properties: properties))
    #expect(discarded.isSessionOnly && discarded.expiresDate == nil)
    properties[.discard] = nil
    properties[.expires] = "Wed, 09 Jun 2027 10:18:14 GMT"
    properties[.version] = nil
    #expect(try #require(HTTPCookie(properties: properties)).expiresDate == Date(timeIntervalSince1970: 1_812_536_294))
  }

  @Test func aCookieOfVersionZeroKeepsItsCommentAndOnePort() throws {
    var given = required
    given[.expires] = Date(timeIntervalSince1970: 1_900_000_000)
    given[.discard] = "TRUE"
    given[.comment] = "c"
    given[.commentURL] = "https://example.com/c"
    given[.port] = "443,8443"
    let cookie = try #require(HTTPCookie(properties: given))
    #expect(cookie.version == 0 && cookie.isSessionOnly && cookie.expiresDate == nil)
    #expect(cookie.comment == "c" && cookie.commentURL == URL(string: "https://example.com/c"))
    #expect(cookie.portList == [443])
    let properties = try #require(cookie.properties)
    #expect(HTTPCookie(properties: properties) == cookie)
  }

  /// As cutting a line into its parts gives them.
  @Test func textMayBeASubstring() throws {
    let parts = "n=v=example.com=/p=TRUE=80".split(separator: "=")
    let cookie = try #require(
      HTTPCookie(properties: [
        .name: parts[0], .value: parts[1], .domain: parts[2], .path: parts[3], .discard: parts[4], .port: parts[5],
        .comment: "c" as NSString,
      ]))
    #expect(cookie.name == "n" && cookie.value == "v" && cookie.domain == "example.com" && cookie.path == "/p")
    #expect(cookie.isSessionOnly && cookie.portList == [80] && cookie.comment == "c")
  }

  @Test func propertiesMakeAnEqualCookie() throws {
    let fields = ["Set-Cookie": "a=b; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Secure; HttpOnly; SameSite=Lax; Path=/x"]
    let url = try #require(URL(string: "https://example.com/"))
    let cookie = try #require(HTTPCookie.cookies(withResponseHeaderFields: fields, for: url).first)
    let properties = try #require(cookie.properties)
    let copy = try #require(HTTPCookie(properties: properties))
    #expect(copy == cookie)
    #expect(copy.hash == cookie.hash)
    #expect(copy.expiresDate != nil && copy.isSecure && copy.isHTTPOnly && copy.sameSitePolicy == .sameSiteLax)
    #expect(!copy.description.contains("a=b"))
  }

  @Test func buildsTheCookieHeader() throws {
    let url = try #require(URL(string: "https://example.com/"))
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["set-cookie": "a=1, b=2; Path=/, c="], for: url)
    #expect(HTTPCookie.requestHeaderFields(with: cookies) == ["Cookie": "a=1; b=2; c="])
    #expect(HTTPCookie.requestHeaderFields(with: []) == [:])
  }

  @Test(arguments: [
    ("https://www.example.com/a/b", "n=v", "www.example.com", "/a"),
    ("https://www.example.com/a/b", "n=v; Domain=example.com", ".example.com", "/a"),
    ("https://www.example.com/a/b", "n=v; Domain=.Example.COM; Path=/z", ".example.com", "/z"),
    ("https://example.com", "n=v", "example.com", "/"),
    ("http://localhost/", "n=v; Domain=localhost", "localhost", "/"),
    ("http://127.0.0.1/", "n=v; Domain=127.0.0.1", "127.0.0.1", "/"),
    ("http://[2001:DB8::1]/", "n=v; Domain=[2001:db8::1]", "2001:db8::1", "/"),
    ("http://eXample.com", "n=v; Domain=1.2.3.4", "1.2.3.4", "/"),
    ("http://a.eXample.com", "n=a=b; Domain=a.eXample.com; Path=no/path", ".a.example.com", "/"),
  ])
  func domainAndPathComeFromTheFieldOrTheURL(url: String, field: String, domain: String, path: String) throws {
    let url = try #require(URL(string: url))
    let cookie = try #require(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url).first)
    #expect(cookie.domain == domain)
    #expect(cookie.path == path)
  }

  @Test(arguments: [
    "__Secure-n=v",
    "__Host-n=v; Secure; Path=/; Domain=www.example.com", "__Host-n=v; Secure", "n=\u{1}v", "=__Host-n=v", "__Secure-n",
    "n=v; SameSite=None", "n=v; Partitioned",
  ])
  func ignoresWhatAClientMustIgnore(field: String) throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    #expect(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url).isEmpty)
  }

  /// RFC 6265bis §5.6 step 3 and §5.8.3 step 4.
  @Test func aServersCookieMayHaveNoName() throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    let cookie = try #require(HTTPCookie.cookies(setCookieFields: ["alone; Path=/"], for: url).first)
    #expect(cookie.name.isEmpty && cookie.value == "alone")
    #expect(HTTPCookie.requestHeaderFields(with: [cookie]) == ["Cookie": "alone"])
    let properties = try #require(cookie.properties)
    #expect(HTTPCookie(properties: properties) == cookie)
    #expect(HTTPCookie(properties: [.name: "", .value: "", .domain: "a.com", .path: "/"]) == nil)
  }

  /// The community's tests of `HTTPCookie` ask for this; loads store such cookies.
  @Test(arguments: ["=v; Path=/", "   =v", "n; Path=/", ";n=v"]) func aDictionaryOfFieldsGivesNamedCookiesOnly(
    field: String
  ) throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    #expect(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url).isEmpty)
  }

  @Test(
    arguments: [
      ("n=v;Comment=why;   =x;CommentURL=page", "why", "page"), ("n=v;Comment;Discard;CommentURL", nil, nil),
      ("n=v; Comment=a b, tok@en=c; CommentURL=https://a.com/x", "a b, tok@en=c", "https://a.com/x"),
      ("n=v; Comment=a; Comment=", nil, nil),
    ] as [(String, String?, String?)])
  func commentsOfAServerAreKept(field: String, comment: String?, page: String?) throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url)
    #expect(cookies.map(\.value) == ["v"])
    let cookie = try #require(cookies.first)
    #expect(cookie.comment == comment && cookie.commentURL == page.flatMap { URL(string: $0) })
    #expect(cookie.isSessionOnly)
    #expect(HTTPCookie(properties: try #require(cookie.properties)) == cookie)
  }

  @Test func aFieldOfSeveralCookiesMayHaveLineBreaks() throws {
    let field = """
      a =1; expires=Wed, 01 Jan 2020 12:30:00 GMT; path=/; domain=swift.org; secure; httponly,
      b=2; expires=Wed Jan 1 12:30:00 2020; path=/; domain=swift.org; secure; httponly,
      c=3; expires=Wed, 01-Jan-2020 12:30:00 GMT; domain=swift.org; path=/; secure; httponly
      """
    let url = try #require(URL(string: "https://swift.org"))
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["X": "y", "Set-Cookie": field], for: url)
    #expect(cookies.map(\.name) == ["a", "b", "c"])
    for cookie in cookies {
      #expect(cookie.expiresDate == Date(timeIntervalSince1970: 1_577_881_800) && !cookie.isSessionOnly)
      #expect(cookie.domain == ".swift.org" && cookie.path == "/" && cookie.isSecure && cookie.isHTTPOnly)
    }
  }

  /// RFC 6265bis §5.1.4: the path counts as it is sent.
  @Test(arguments: [
    ("https://a.com/a/", "/a"), ("https://a.com/a%2Fb/c?d/e", "/a%2Fb"), ("https://a.com/a/b#c/d", "/a"),
    ("wss://a.com/chat/x", "/chat"),
  ])
  func theDefaultPathIsThatOfTheURL(url: String, path: String) throws {
    let url = try #require(URL(string: url))
    #expect(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": "n=v"], for: url).first?.path == path)
  }

  /// Parsing only reads; the store decides what a server may set.
  @Test(arguments: ["example.org", "sub.www.example.com", "com"])
  func cookiesOfOtherDomainsAreReadAndNotStored(domain: String) throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    let fields = ["Set-Cookie": "n=v; Domain=\(domain)"]
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: fields, for: url)
    #expect(cookies.map(\.domain) == ["." + domain])
    let storage = HTTPCookieStorage()
    storage.setCookies(cookies, for: url, mainDocumentURL: nil)
    #expect(storage.cookies == [])
  }
}

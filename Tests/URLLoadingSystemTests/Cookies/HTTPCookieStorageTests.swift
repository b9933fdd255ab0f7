import Foundation
import Synchronization
import Testing

@testable import URLLoadingSystem

@Suite struct HTTPCookieStorageTests {
  let storage = HTTPCookieStorage()

  func cookie(
    _ name: String, _ value: String = "v", domain: String = "example.com", path: String = "/",
    more: [HTTPCookiePropertyKey: Any] = [:]
  ) throws -> HTTPCookie {
    let properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
    return try #require(HTTPCookie(properties: properties.merging(more) { $1 }))
  }

  func names(for url: String) throws -> [String]? {
    storage.cookies(for: try #require(URL(string: url)))?.map(\.name)
  }

  @Test(arguments: [
    ("http://example.com/", ["host"]), ("https://example.com/", ["host", "secure"]),
    ("http://www.example.com/", ["everywhere"]), ("http://a.www.example.com/", ["everywhere"]),
    ("http://www.example.com/dir/x", ["deep", "everywhere"]), ("http://www.example.com/directory", ["everywhere"]),
    ("http://example.org/", []), ("http://badexample.com/", []),
    ("http://WWW.EXAMPLE.COM/dir", ["deep", "everywhere"]),
  ])
  func sendsWhatTheURLIsEntitledTo(url: String, names: [String]) throws {
    storage.setCookie(try cookie("host"))
    storage.setCookie(try cookie("secure", more: [.secure: "TRUE"]))
    storage.setCookie(try cookie("everywhere", domain: ".www.example.com"))
    storage.setCookie(try cookie("deep", domain: ".www.example.com", path: "/dir"))
    #expect(try self.names(for: url) == names)
  }

  @Test func oneNameDomainAndPathIsOneCookieThatKeepsItsPlace() throws {
    storage.setCookie(try cookie("a", "1"))
    storage.setCookie(try cookie("b", "2"))
    storage.setCookie(try cookie("a", "3"))
    storage.setCookie(try cookie("a", "4", path: "/x"))
    #expect(storage.cookies?.map(\.value) == ["3", "2", "4"])
    storage.deleteCookie(try cookie("a", "whatever"))
    #expect(storage.cookies?.map(\.value) == ["2", "4"])
  }

  @Test func expiredCookiesAreNeitherKeptNorSent() throws {
    storage.setCookie(try cookie("a"))
    storage.setCookie(try cookie("a", more: [.expires: Date(timeIntervalSinceNow: -1)]))
    #expect(storage.cookies?.isEmpty == true)
    storage.setCookie(try cookie("b", more: [.expires: Date(timeIntervalSinceNow: 1_000)]))
    #expect(try names(for: "http://example.com") == ["b"])
  }

  @Test func portsRestrictVersionOneCookies() throws {
    storage.setCookie(try cookie("p", more: [.version: "1", .port: "8080", .maximumAge: "100"]))
    #expect(try names(for: "http://example.com:8080/") == ["p"])
    #expect(try names(for: "http://example.com/") == [])
  }

  @Test func policyDecidesWhatIsStored() throws {
    let url = try #require(URL(string: "http://ads.example.org/"))
    let own = try #require(URL(string: "http://www.example.org/"))
    let other = try #require(URL(string: "http://example.com/"))
    let cookie = try cookie("c", domain: ".ads.example.org")
    #expect(storage.cookieAcceptPolicy == .always)
    storage.cookieAcceptPolicy = .never
    storage.setCookies([cookie], for: url, mainDocumentURL: nil)
    storage.setCookie(cookie)
    #expect(storage.cookies?.isEmpty == true)
    storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
    storage.setCookies([cookie], for: url, mainDocumentURL: other)
    #expect(storage.cookies?.isEmpty == true)
    storage.setCookies([cookie], for: url, mainDocumentURL: own)
    #expect(storage.cookies?.count == 1)
    storage.setCookies([try self.cookie("d", domain: "ads.example.org")], for: url, mainDocumentURL: nil)
    #expect(storage.cookies?.count == 2)
  }

  @Test func aURLSetsCookiesForItselfOnlyAndSecureOnesOnlyOverTLS() throws {
    let url = try #require(URL(string: "http://www.example.com/"))
    let cookies = [
      try cookie("foreign", domain: "example.org"), try cookie("parent", domain: ".example.com"),
      try cookie("sibling", domain: "mail.example.com"), try cookie("topLevel", domain: ".com"),
      try cookie("secure", domain: ".example.com", more: [.secure: 1]),
    ]
    storage.setCookies(cookies, for: url, mainDocumentURL: nil)
    #expect(storage.cookies?.map(\.name) == ["parent"])
  }

  /// RFC 6265bis §5.7 steps 9 and 10, with the machine's list.
  @Test(
    arguments: [
      ("https://www.example.co.uk/", ".example.co.uk", ".example.co.uk"), ("https://example.co.uk/", ".co.uk", nil),
      ("https://co.uk/", ".co.uk", "co.uk"), ("https://me.github.io/", ".github.io", nil),
      ("https://me.github.io/", ".me.github.io", ".me.github.io"),
    ] as [(String, String, String?)])
  func noCookieIsForAPublicSuffix(url: String, domain: String, kept: String?) throws {
    let url = try #require(URL(string: url))
    storage.setCookies([try cookie("c", domain: domain)], for: url, mainDocumentURL: nil)
    #expect(storage.cookies?.map(\.domain) == (kept.map { [$0] } ?? []))
  }

  /// RFC 6265bis §5.7 step 16.
  @Test func anInsecurePlaceCannotHideASecureCookie() throws {
    let secure = try cookie("s", domain: ".example.com", path: "/a", more: [.secure: "TRUE"])
    let url = try #require(URL(string: "https://www.example.com/"))
    let insecure = try #require(URL(string: "http://www.example.com/"))
    storage.setCookies([secure], for: url, mainDocumentURL: nil)
    let attempts = [
      try cookie("s", "x", domain: ".example.com", path: "/a"),
      try cookie("s", "x", domain: "www.example.com", path: "/a/b"),
    ]
    storage.setCookies(attempts, for: insecure, mainDocumentURL: nil)
    #expect(storage.cookies?.map(\.value) == ["v"])
    storage.setCookies([try cookie("s", "x", domain: "www.example.com")], for: insecure, mainDocumentURL: nil)
    #expect(storage.cookies?.map(\.value) == ["v", "x"])
  }

  @Test func worksForTasks() async throws {
    let url = try #require(URL(string: "https://www.example.com/"))
    let task = URLSession.shared.dataTask(with: url)
    storage.storeCookies([try cookie("a", domain: "www.example.com"), try cookie("b", domain: "a.org")], for: task)
    #expect(await storage.cookies(for: task)?.map(\.name) == ["a"])
  }

  @Test func removesByAge() throws {
    storage.setCookie(try cookie("a"))
    storage.removeCookies(since: .distantFuture)
    #expect(storage.cookies?.count == 1)
    storage.removeCookies(since: .distantPast)
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test func sortsAsAsked() throws {
    for name in ["b", "c", "a"] { storage.setCookie(try cookie(name)) }
    let descending = NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false)
    #expect(storage.sortedCookies(using: [descending]).map(\.name) == ["c", "b", "a"])
    storage.setCookie(try cookie("d", path: "/1"))
    let byPath = NSSortDescriptor(keyPath: \HTTPCookie.path, ascending: false)
    #expect(storage.sortedCookies(using: [byPath, descending]).map(\.name) == ["d", "c", "b", "a"])
  }

  @Test func theDescriptionCountsTheCookies() throws {
    #expect(storage.description == "<NSHTTPCookieStorage cookies count:0>")
    storage.setCookie(try cookie("a"))
    #expect(storage.description == "<NSHTTPCookieStorage cookies count:1>")
  }

  /// The main document may be another host of the domain, also without TLS.
  @Test func theMainDocumentsDomainDecides() throws {
    storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
    let main = URL(string: "http://ci.swift.org")
    let url = try #require(URL(string: "https://swift.org/downloads"))
    storage.setCookies([try cookie("a", domain: "swift.org")], for: url, mainDocumentURL: main)
    #expect(storage.cookies(for: url)?.map(\.name) == ["a"])
    // A cookie for one host is not another's to set.
    let other = try #require(URL(string: "https://dt.swift.org/downloads"))
    storage.setCookies([try cookie("b", domain: "swift.org")], for: other, mainDocumentURL: main)
    #expect(storage.cookies?.count == 1 && storage.cookies(for: other) == [])
  }

  @Test func tellsWhenTheSetChangesAndOnlyThen() throws {
    let count = Mutex(0)
    let observer = NotificationCenter.default.addObserver(
      forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
    ) { _ in count.withLock { $0 += 1 } }
    defer { NotificationCenter.default.removeObserver(observer) }
    let cookie = try cookie("a")
    storage.setCookie(cookie)
    storage.setCookie(cookie)
    storage.deleteCookie(cookie)
    storage.deleteCookie(cookie)
    #expect(count.withLock { $0 } == 2)
  }

  @Test func sendsTheTypedMessageToo() async throws {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let token = NotificationCenter.default.addObserver(of: storage, for: .cookiesChanged) { _ in continuation.finish() }
    storage.setCookie(try cookie("a"))
    for await _ in changes {}
    NotificationCenter.default.removeObserver(token)
  }

  @Test func oneDomainCannotFillTheStore() throws {
    for number in 0..<200 { storage.setCookie(try cookie("c\(number)")) }
    #expect(storage.cookies?.count == 180)
    #expect(storage.cookies?.last?.name == "c199")
  }

  @Test func theSharedStoresAreOnTheDisk() {
    let group = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "g/../h")
    #expect(HTTPCookieStorage.shared.persistence != nil && group.persistence != nil)
    #expect(storage.persistence == nil)
    #expect(CookieFolders.ofGroup("g/../h").hasSuffix("/groups/group-g%2f..%2fh"))
    #expect(CookieFolders.ofApp.contains("/url-loading-system/apps/"))
  }

  @Test func groupsShareOneObject() {
    let one = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "g")
    #expect(one === HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "g"))
    #expect(one !== HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "h"))
    #expect(HTTPCookieStorage.shared === HTTPCookieStorage.shared)
  }
}

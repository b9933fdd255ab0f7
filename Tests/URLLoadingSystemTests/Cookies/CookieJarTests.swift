import Foundation
import HTTPSemantics
import Testing

@testable import URLLoadingSystem

@Suite struct CookieJarTests {
  let now = Date(timeIntervalSince1970: 1_800_000_000)

  func cookie(
    _ name: String, _ value: String = "v", domain: String = "example.com", path: String = "/",
    _ change: (inout HTTPCookie.Contents) -> Void = { _ in }
  ) -> HTTPCookie {
    var contents = HTTPCookie.Contents(name: name, value: value, domain: domain, path: path)
    change(&contents)
    return HTTPCookie(contents)
  }

  func request(_ url: String, main: String? = nil, _ change: (inout URLRequest) -> Void = { _ in }) throws
    -> CookieRequest
  {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.mainDocumentURL = main.flatMap { URL(string: $0) }
    change(&request)
    return try #require(CookieRequest(request))
  }

  func names(_ jar: inout CookieJar, _ request: CookieRequest) -> [String] {
    jar.cookies(for: request, suffixes: TwoLabelSuffixes(), at: now).map(\.name)
  }

  /// RFC 6265bis §5.8.3 step 2: longer paths first, and earlier creation times before later ones.
  @Test func longerPathsAndOlderCookiesComeFirst() throws {
    var jar = CookieJar()
    for (name, path) in [("first", "/"), ("deep", "/a/b"), ("second", "/"), ("middle", "/a")] {
      jar.set(cookie(name, path: path), at: now)
    }
    jar.set(cookie("first", "new"), at: now.addingTimeInterval(5))
    #expect(names(&jar, try request("http://example.com/a/b/c")) == ["deep", "middle", "first", "second"])
  }

  /// RFC 6265bis §5.8.3 step 1 and §5.2: without a main document a request is same-site.
  @Test(
    arguments: [
      (nil, "GET", ["none", "lax", "strict"]), ("https://www.example.com/", "GET", ["none", "lax", "strict"]),
      ("https://other.org/", "GET", ["none"]), ("http://example.com/", "GET", ["none"]),
    ] as [(String?, String, [String])])
  func sameSiteCookiesAreForRequestsOfTheSite(main: String?, method: String, names: [String]) throws {
    var jar = CookieJar()
    jar.set(cookie("none"), at: now)
    jar.set(cookie("lax") { $0.sameSitePolicy = .sameSiteLax }, at: now)
    jar.set(cookie("strict") { $0.sameSitePolicy = .sameSiteStrict }, at: now)
    #expect(self.names(&jar, try request("https://example.com/", main: main)) == names)
  }

  /// §5.6.7.1: Lax cookies go along where a navigation was redirected to another site, with safe methods.
  @Test(arguments: [("GET", ["lax"]), ("HEAD", ["lax"]), ("POST", [])])
  func laxCookiesGoAlongWithNavigations(method: String, names: [String]) throws {
    var jar = CookieJar()
    jar.set(cookie("lax") { $0.sameSitePolicy = .sameSiteLax }, at: now)
    jar.set(cookie("strict") { $0.sameSitePolicy = .sameSiteStrict }, at: now)
    let main = try #require(URL(string: "https://other.org/start"))
    var first = URLRequest(url: main)
    first.mainDocumentURL = main
    var second = URLRequest(url: try #require(URL(string: "https://example.com/")))
    second.mainDocumentURL = main
    second.httpMethod = method
    #expect(self.names(&jar, try #require(CookieRequest(second, first: first))) == names)
  }

  @Test func anAppsPartitionHasCookiesOfItsOwn() throws {
    var jar = CookieJar()
    jar.set(cookie("plain"), at: now)
    jar.set(cookie("inA") { $0.partition = "a" }, at: now)
    #expect(names(&jar, try request("https://example.com/")) == ["plain"])
    #expect(names(&jar, try request("https://example.com/") { $0.cookiePartitionIdentifier = "a" }) == ["inA"])
    #expect(names(&jar, try request("https://example.com/") { $0.cookiePartitionIdentifier = "b" }) == [])
  }

  @Test func partitionedCookiesAreForTheirTopLevelSite() throws {
    var jar = CookieJar()
    jar.set(cookie("plain"), at: now)
    jar.set(
      cookie("there") {
        $0.isPartitioned = true
        $0.partition = "https://top.org"
      }, at: now)
    let url = "https://example.com/"
    #expect(names(&jar, try request(url)) == ["plain"])
    #expect(names(&jar, try request(url, main: "https://www.top.org/")) == ["plain", "there"])
    #expect(names(&jar, try request(url, main: "https://another.org/")) == ["plain"])
  }

  // MARK: Limits

  /// RFC 6265bis §5.7, the end: expired, then those that are not secure, then all; each time the least recently used.
  @Test func aFullDomainLosesWhatIsLeastWorth() throws {
    var jar = CookieJar()
    for number in 0..<CookieJar.mostPerDomain {
      jar.set(cookie("c\(number)", path: "/\(number)") { $0.isSecure = number % 2 == 0 }, at: now)
    }
    // Of those that are not secure the first was used.
    _ = names(&jar, try request("https://example.com/1"))
    jar.set(cookie("new"), at: now)
    let left = Set(jar.all(at: now).map(\.name))
    #expect(left.count == CookieJar.mostPerDomain)
    #expect(!left.contains("c3") && left.contains("c0") && left.contains("c1") && left.contains("new"))
  }

  @Test func expiredCookiesGoFirst() {
    var jar = CookieJar()
    for number in 0..<CookieJar.mostPerDomain {
      jar.set(cookie("c\(number)") { $0.expires = number == 9 ? now.addingTimeInterval(1) : nil }, at: now)
    }
    let later = now.addingTimeInterval(2)
    jar.set(cookie("new"), at: later)
    let left = Set(jar.all(at: later).map(\.name))
    #expect(left.count == CookieJar.mostPerDomain && left.contains("c0") && left.contains("new"))
  }

  @Test func aFullStoreLosesTheLeastRecentlyUsed() throws {
    var jar = CookieJar()
    for number in 0...CookieJar.mostInAll {
      if number == CookieJar.mostInAll { _ = names(&jar, try request("http://d0.com/")) }
      jar.set(cookie("c", domain: "d\(number).com"), at: now)
    }
    #expect(jar.count == CookieJar.leftOfAll)
    #expect(names(&jar, try request("http://d0.com/")) == ["c"])
    #expect(names(&jar, try request("http://d1.com/")) == [])
    #expect(names(&jar, try request("http://d\(CookieJar.mostInAll).com/")) == ["c"])
  }

  // MARK: Secure cookies

  /// §5.7 step 16: the domains match either way, and the new path lies at or below the secure cookie's.
  @Test(arguments: [
    ("example.com", "/", "example.com", "/", true), (".example.com", "/", "www.example.com", "/a", true),
    ("www.example.com", "/", ".example.com", "/", true), ("example.com", "/", "www.example.com", "/", true),
    ("example.com", "/a", "example.com", "/", false), ("example.com", "/a", "example.com", "/a/b", true),
    ("example.org", "/", "example.com", "/", false), ("badexample.com", "/", "example.com", "/", false),
  ])
  func secureCookiesAreLeftAlone(
    domain: String, path: String, newDomain: String, newPath: String, isHidden: Bool
  ) {
    var jar = CookieJar()
    let secure = cookie("s", domain: domain, path: path) { $0.isSecure = true }
    jar.set(secure, at: now)
    #expect(jar.hidesSecureCookie(cookie("s", domain: newDomain, path: newPath), at: now) == isHidden)
    #expect(!jar.hidesSecureCookie(cookie("t", domain: newDomain, path: newPath), at: now))
    jar.remove(CookieIdentity(secure))
    #expect(!jar.hidesSecureCookie(cookie("s", domain: newDomain, path: newPath), at: now))
  }

  /// §5.7, the end: what has ended is evicted, so that nothing is left to hide.
  @Test func aSecureCookieThatHasEndedIsNotHidden() {
    var jar = CookieJar()
    let secure = cookie("s") {
      $0.isSecure = true
      $0.expires = now.addingTimeInterval(10)
    }
    jar.set(secure, at: now)
    #expect(jar.hidesSecureCookie(cookie("s"), at: now))
    #expect(!jar.hidesSecureCookie(cookie("s"), at: now.addingTimeInterval(10)))
  }

  /// §5.7 step 24 speaks of cookies of the store, where one that has ended is no more.
  @Test func aCookieAfterTheEndOfItsPredecessorIsNew() throws {
    var jar = CookieJar()
    let ending = cookie("ending") {
      $0.expires = now.addingTimeInterval(10)
      $0.isSessionOnly = false
    }
    jar.set(ending, at: now)
    jar.set(cookie("other"), at: now)
    _ = jar.takeChanges()
    jar.set(cookie("ending", "new"), at: now.addingTimeInterval(10))
    #expect(names(&jar, try request("http://example.com/")) == ["other", "ending"])
    #expect(jar.count == 2)
    // The file has the one that has ended.
    #expect(jar.takeChanges()[CookieIdentity(ending)].map { $0 == nil } == true)
  }

  /// RFC 6265bis §5.6: names are octets. To Swift, the two texts are equal.
  @Test func namesAndPathsAreComparedByOctets() throws {
    var jar = CookieJar()
    for text in ["\u{e9}", "e\u{301}"] {
      jar.set(cookie(text), at: now)
      jar.set(cookie("p", path: "/" + text), at: now)
    }
    #expect(jar.count == 4)
    #expect(CookieIdentity(cookie("\u{e9}")) != CookieIdentity(cookie("e\u{301}")))
    jar.remove(CookieIdentity(cookie("\u{e9}")))
    #expect(jar.count == 3)
    #expect(names(&jar, try request("http://example.com/")).map(\.utf8.count) == [3])
  }

  // MARK: The disk

  @Test func onlyLastingCookiesAreChangesForTheDisk() throws {
    var jar = CookieJar()
    jar.set(cookie("session"), at: now)
    #expect(!jar.hasChanges)
    let lasting = cookie("kept") {
      $0.expires = now.addingTimeInterval(60)
      $0.isSessionOnly = false
    }
    jar.set(lasting, at: now)
    let kept = jar.takeChanges()
    #expect(kept.count == 1 && kept[CookieIdentity(lasting)]??.cookie == lasting)
    #expect(!jar.hasChanges)
    // One that ends with the session from now on is removed from the disk.
    jar.set(cookie("kept"), at: now)
    let removed = jar.takeChanges()
    #expect(removed.count == 1)
    #expect(removed[CookieIdentity(lasting)].map { $0 == nil } == true)
  }

  @Test func whatAnotherProcessWroteIsTakenOver() throws {
    var jar = CookieJar()
    func lasting(_ name: String, _ value: String) -> HTTPCookie {
      cookie(name, value) {
        $0.expires = now.addingTimeInterval(60)
        $0.isSessionOnly = false
      }
    }
    func entry(_ cookie: HTTPCookie) -> CookieEntry { CookieEntry(cookie: cookie, stored: now, order: 1, lastUse: 0) }
    for name in ["gone", "replaced"] { jar.set(lasting(name, "1"), at: now) }
    _ = jar.takeChanges()
    jar.set(lasting("own", "1"), at: now)
    jar.set(cookie("session"), at: now)
    let isChanged = jar.merge(
      [entry(lasting("replaced", "2")), entry(lasting("own", "2"))],
      removed: [CookieIdentity(lasting("gone", "")), CookieIdentity(cookie("session"))], isAll: false, at: now)
    #expect(isChanged)
    #expect(Set(jar.all(at: now).map { $0.name + $0.value }) == ["replaced2", "own1", "sessionv"])
    #expect(jar.takeChanges().keys.map(\.name) == ["own"])
    let isSame = jar.merge([entry(lasting("replaced", "2"))], removed: [], isAll: false, at: now)
    #expect(!isSame)
    // All there is: what is missing was removed.
    _ = jar.merge([entry(lasting("replaced", "2"))], removed: [], isAll: true, at: now)
    #expect(Set(jar.all(at: now).map(\.name)) == ["replaced", "session"])
  }

  /// A process that had not learned of the removal has begun a new file with all cookies that it knew.
  @Test func aRemovedCookieDoesNotComeBackWithANewFile() throws {
    var jar = CookieJar()
    let removed = cookie("a") {
      $0.expires = now.addingTimeInterval(60)
      $0.isSessionOnly = false
    }
    jar.set(removed, at: now)
    let written = jar.persistentEntries
    jar.remove(CookieIdentity(removed))
    _ = jar.takeChanges()
    let isChanged = jar.merge(written, removed: [], isAll: true, at: now)
    #expect(!isChanged && jar.count == 0)
    let change = jar.takeChanges()[CookieIdentity(removed)]
    #expect(change.map { $0 == nil } == true)
    // One that was stored after the removal is another cookie.
    let later = CookieEntry(cookie: removed, stored: now.addingTimeInterval(1), order: 2, lastUse: 0)
    _ = jar.merge([later], removed: [], isAll: true, at: now)
    #expect(jar.count == 1 && !jar.hasChanges)
  }
}

/// A list of public suffixes of one label each.
private struct TwoLabelSuffixes: PublicSuffixes {
  func isPublicSuffix(_ domain: String) -> Bool { !domain.contains(".") }

  func registrableDomain(of host: String) -> String? {
    let labels = host.split(separator: ".")
    return labels.count < 2 ? nil : labels.suffix(2).joined(separator: ".")
  }
}

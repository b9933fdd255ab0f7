import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct URLCredentialStorageTests {
  let storage = URLCredentialStorage()
  let space = URLProtectionSpace(
    host: "example.com", port: 443, protocol: "https", realm: "r",
    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

  func credential(_ user: String, _ password: String = "p", _ persistence: URLCredential.Persistence = .forSession)
    -> URLCredential
  {
    URLCredential(user: user, password: password, persistence: persistence)
  }

  @Test func keepsOneCredentialAUser() {
    #expect(storage.credentials(for: space) == nil)
    storage.set(credential("a", "1"), for: space)
    storage.set(credential("a", "2"), for: space)
    storage.set(credential("b"), for: space)
    storage.set(credential("c", "3", .none), for: space)
    #expect(storage.credentials(for: space)?.mapValues(\.password) == ["a": "2", "b": "p"])
    #expect(storage.allCredentials.count == 1)
  }

  @Test func theDefaultIsChosenAndForgottenWithItsCredential() {
    storage.set(credential("a"), for: space)
    storage.set(credential("c"), for: space)
    // The first one of a space is its default until another is chosen.
    #expect(storage.defaultCredential(for: space)?.user == "a")
    storage.remove(credential("c"), for: space)
    storage.setDefaultCredential(credential("b"), for: space)
    #expect(storage.defaultCredential(for: space)?.user == "b")
    #expect(storage.credentials(for: space)?.count == 2)
    storage.remove(credential("b"), for: space)
    #expect(storage.defaultCredential(for: space) == nil)
    storage.remove(credential("a"), for: space)
    #expect(storage.allCredentials.isEmpty)
  }

  @Test func worksForTasks() async throws {
    let task = URLSession.shared.dataTask(with: try #require(URL(string: "https://example.com/")))
    storage.set(credential("a"), for: space, task: task)
    storage.setDefaultCredential(credential("b"), for: space, task: task)
    #expect(await storage.credentials(for: space, task: task)?.keys.sorted() == ["a", "b"])
    #expect(await storage.defaultCredential(for: space, task: task)?.user == "b")
    storage.remove(credential("b"), for: space, options: nil, task: task)
    #expect(await storage.defaultCredential(for: space, task: task) == nil)
  }

  @Test func synchronizableCredentialsAreRemovedOnlyOnRequest() {
    let credential = credential("a", "p", .synchronizable)
    storage.set(credential, for: space)
    storage.remove(credential, for: space)
    #expect(storage.credentials(for: space) != nil)
    storage.remove(
      credential, for: space, options: [NSURLCredentialStorageRemoveSynchronizableCredentials: NSNumber(value: true)])
    #expect(storage.credentials(for: space) == nil)
  }

  @Test func changesAndOnlyTheyArePosted() {
    let storage = URLCredentialStorage()
    let posts = Recorder<Void>()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
    ) { _ in posts.record(()) }
    defer { NotificationCenter.default.removeObserver(observer) }
    let space = URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: "r", authenticationMethod: nil)
    let first = URLCredential(user: "a", password: "1", persistence: .forSession)
    let second = URLCredential(user: "b", password: "2", persistence: .forSession)
    for (change, count) in [
      ({ storage.set(first, for: space) }, 1), ({ storage.set(first, for: space) }, 1),
      ({ storage.setDefaultCredential(first, for: space) }, 1), ({ storage.set(second, for: space) }, 2),
      ({ storage.setDefaultCredential(second, for: space) }, 3), ({ storage.remove(first, for: space) }, 4),
      ({ storage.remove(first, for: space) }, 4),
      ({ storage.set(URLCredential(user: "c", password: "3", persistence: .none), for: space) }, 4),
    ] as [(() -> Void, Int)] {
      change()
      #expect(posts.all.count == count)
    }
  }
}

@Suite struct URLProtectionSpaceTests {
  @Test func knowsServersFromProxies() {
    let server = URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: nil, authenticationMethod: nil)
    #expect(!server.isProxy())
    #expect(server.protocol == "http" && server.proxyType == nil)
    #expect(server.authenticationMethod == NSURLAuthenticationMethodDefault)
    #expect(!server.receivesCredentialSecurely)
    let proxy = URLProtectionSpace(
      proxyHost: "h", port: 80, type: NSURLProtectionSpaceSOCKSProxy, realm: nil, authenticationMethod: nil)
    #expect(proxy.isProxy())
    #expect(proxy.protocol == nil && proxy.proxyType == "SOCKS")
    #expect(server != proxy)
  }

  @Test(arguments: [
    ("https", NSURLAuthenticationMethodHTTPBasic, true), ("http", NSURLAuthenticationMethodHTTPBasic, false),
    ("http", NSURLAuthenticationMethodHTTPDigest, true), ("http", NSURLAuthenticationMethodNTLM, true),
    ("http", NSURLAuthenticationMethodHTMLForm, false), ("ftp", NSURLAuthenticationMethodDefault, false),
    ("ftps", NSURLAuthenticationMethodDefault, true), ("HTTPS", NSURLAuthenticationMethodHTTPBasic, true),
  ])
  func knowsWhetherTheCredentialCanBeRead(scheme: String, method: String, isSecure: Bool) {
    let space = URLProtectionSpace(host: "h", port: 0, protocol: scheme, realm: nil, authenticationMethod: method)
    #expect(space.receivesCredentialSecurely == isSecure)
  }

  @Test func unknownMethodsBecomeTheDefaultOne() {
    for method in ["", "Basic", "NSURLAuthenticationMethodMade Up"] {
      let server = URLProtectionSpace(host: "h", port: 0, protocol: "http", realm: nil, authenticationMethod: method)
      let proxy = URLProtectionSpace(proxyHost: "h", port: 0, type: nil, realm: nil, authenticationMethod: method)
      #expect(server.authenticationMethod == NSURLAuthenticationMethodDefault)
      #expect(proxy.authenticationMethod == NSURLAuthenticationMethodDefault)
    }
  }

  typealias Given = (host: String, port: Int, scheme: String, method: String?)

  /// What a program writes, and what a challenge does.
  @Test(
    arguments: [
      (("H", 0, "http", nil), ("h", 80, "http", NSURLAuthenticationMethodHTTPBasic), true),
      (("h", 0, "HTTPS", NSURLAuthenticationMethodDefault), ("h", 443, "https", nil), true),
      (("h", 0, "ftp", nil), ("h", 21, "ftp", NSURLAuthenticationMethodDefault), true),
      (("h", 0, "http", nil), ("h", 443, "http", nil), false), (("h", 80, "http", nil), ("h", 80, "https", nil), false),
      (("h", 0, "http", nil), ("h", 80, "http", NSURLAuthenticationMethodHTTPDigest), false),
      (("h", 21, "ftp", nil), ("h", 21, "ftp", NSURLAuthenticationMethodHTTPBasic), false),
    ] as [(Given, Given, Bool)])
  func defaultsAreWhatTheyStandFor(one: Given, other: Given, areEqual: Bool) {
    let (one, other) = (Self.space(one), Self.space(other))
    #expect((one == other) == areEqual)
    if areEqual { #expect(one.hash == other.hash) }
    let storage = URLCredentialStorage()
    storage.setDefaultCredential(URLCredential(user: "ann", password: "1", persistence: .forSession), for: one)
    #expect((storage.defaultCredential(for: other) != nil) == areEqual)
  }

  private static func space(_ given: Given) -> URLProtectionSpace {
    URLProtectionSpace(
      host: given.host, port: given.port, protocol: given.scheme, realm: "r", authenticationMethod: given.method)
  }

  @Test func archivesRoundTripAndKeepTheirIdentity() throws {
    let space = URLProtectionSpace(
      host: "h", port: 8_443, protocol: "https", realm: "r", authenticationMethod: NSURLAuthenticationMethodNTLM)
    let data = try NSKeyedArchiver.archivedData(withRootObject: space, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLProtectionSpace.self, from: data))
    #expect(restored == space)
    #expect([space: 1][restored] == 1)
    let other = URLProtectionSpace(
      host: "h", port: 8_443, protocol: "https", realm: "other", authenticationMethod: NSURLAuthenticationMethodNTLM)
    #expect(other != space)
  }
}

import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Members of the stores and of what they hold that no other suite needs.
@Suite struct StoreMemberTests {
  let url = URL(string: "https://example.com/")!
  let space = URLProtectionSpace(
    host: "example.com", port: 443, protocol: "https", realm: "r",
    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

  @Test func handlersGetWhatIsStoredForATask() async throws {
    let task = URLSession.shared.dataTask(with: url)
    let cache = URLCache(memoryCapacity: 10_000, diskCapacity: 0)
    let response = CachedURLResponse(response: HTTPURLResponse(), data: Data([1]))
    cache.storeCachedResponse(response, for: task)
    let responses = Recorder<CachedURLResponse?>()
    cache.getCachedResponse(for: task) { responses.record($0) }
    #expect(try await responses.next() === response)

    let cookies = HTTPCookieStorage()
    let cookie = try #require(HTTPCookie(properties: [.name: "n", .value: "v", .originURL: url, .path: "/"]))
    cookies.storeCookies([cookie], for: task)
    let names = Recorder<[String]?>()
    cookies.getCookiesFor(task) { names.record($0?.map(\.name)) }
    #expect(try await names.next() == ["n"])

    let credentials = URLCredentialStorage()
    credentials.setDefaultCredential(
      URLCredential(user: "u", password: "p", persistence: .forSession), for: space, task: task)
    let users = Recorder<String?>()
    credentials.getCredentials(for: space, task: task) { users.record($0?.keys.first) }
    credentials.getDefaultCredential(for: space, task: task) { users.record($0?.user) }
    #expect(try await users.first(2) == ["u", "u"])
  }

  @Test func cachedResponsesAreWhatTheyWereMadeOf() {
    let response = URLResponse(url: url, mimeType: "text/plain", expectedContentLength: 1, textEncodingName: nil)
    let plain = CachedURLResponse(response: response, data: Data([1]))
    #expect(plain.response === response && plain.data == Data([1]))
    #expect(plain.userInfo == nil && plain.storagePolicy == .allowed)
    let full = CachedURLResponse(
      response: response, data: Data(), userInfo: ["k": 7], storagePolicy: .allowedInMemoryOnly)
    #expect(full.userInfo?["k"] as? Int == 7 && full.storagePolicy == .allowedInMemoryOnly)
    #expect(CachedURLResponse(response: response, data: Data(), storagePolicy: .notAllowed).userInfo == nil)
  }

  @Test func aCookieOfVersionOneEndsWithTheSessionUnlessItHasAnAge() throws {
    let base: [HTTPCookiePropertyKey: Any] = [
      .name: "n", .value: "v", .domain: "example.com", .path: "/", .version: "1",
    ]
    let session = try #require(HTTPCookie(properties: base))
    #expect(session.version == 1 && session.isSessionOnly && session.portList == nil)
    let aged = try #require(HTTPCookie(properties: base.merging([.maximumAge: "60"]) { $1 }))
    #expect(!aged.isSessionOnly && aged.expiresDate != nil)
    let discarded = try #require(
      HTTPCookie(properties: base.merging([.maximumAge: "60", .discard: "TRUE"]) { $1 }))
    #expect(discarded.isSessionOnly)
    let script = try #require(HTTPCookie(properties: base.merging([.setByJavaScript: true]) { $1 }))
    #expect(script.name == "n")
  }

  @Test func aSpaceOfAClientCertificateNamesItsIssuersAndOneOfTrustItsCertificates() {
    #expect(space.distinguishedNames == nil && space.serverTrust == nil)
    #expect(space.host == "example.com" && space.port == 443 && space.realm == "r")
    let trust = SecTrust(certificates: [SecCertificate(derBytes: Data([1]))], host: "h")
    let asking = URLProtectionSpace(
      host: "h", port: 443, protocol: "https", realm: nil,
      authenticationMethod: NSURLAuthenticationMethodClientCertificate, distinguishedNames: [Data([2])],
      serverTrust: nil)
    #expect(asking.distinguishedNames == [Data([2])] && asking.serverTrust == nil && asking.realm == nil)
    let judged = URLProtectionSpace(
      host: "h", port: 443, protocol: "https", realm: nil, authenticationMethod: NSURLAuthenticationMethodServerTrust,
      distinguishedNames: nil, serverTrust: trust)
    #expect(judged.serverTrust === trust && judged.distinguishedNames == nil)
  }

  @Test func theSharedStoresAreOne() {
    #expect(URLCredentialStorage.shared === URLCredentialStorage.shared)
    #expect(HTTPCookieStorage.shared === HTTPCookieStorage.shared)
    #expect(URLCache.shared === URLCache.shared)
  }

  @Test func aCacheOfAPathIsACache() {
    let cache = URLCache(memoryCapacity: 1_000, diskCapacity: 2_000, diskPath: "/nowhere/cache")
    #expect(cache.memoryCapacity == 1_000 && cache.diskCapacity == 2_000)
  }

  /// RFC 4594 and RFC 8622: what the network is told of each kind of traffic.
  @Test(
    arguments: [
      (.default, .default, 0), (.background, .default, 8), (.default, .background, 8), (.voice, .background, 46),
      (.responsiveData, .default, 18), (.avStreaming, .default, 26), (.video, .default, 34),
      (.responsiveAV, .default, 34), (.voip, .default, 40), (.callSignaling, .default, 40),
    ] as [(URLRequest.NetworkServiceType, URLRequest.NetworkServiceType, UInt8)])
  func theServiceTypeOfTheRequestWins(
    own: URLRequest.NetworkServiceType, session: URLRequest.NetworkServiceType, codePoint: UInt8
  ) {
    var request = URLRequest(url: url)
    request.networkServiceType = own
    let configuration = URLSessionConfiguration.ephemeral
    configuration.networkServiceType = session
    #expect(TrafficClass(request, ofSession: configuration.loadConfiguration.networkServiceType).dscp == codePoint)
  }
}

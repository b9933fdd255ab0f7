import Foundation
import Testing
import URLLoadingSystem

@Suite struct URLCacheTests {
  let cache = URLCache(memoryCapacity: 100_000, diskCapacity: 5)

  func request(_ path: String) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "https://example.com/\(path)")))
  }

  func response(bytes: Int, policy: URLCache.StoragePolicy = .allowed) throws -> CachedURLResponse {
    let url = try #require(URL(string: "https://example.com/"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    return CachedURLResponse(response: response, data: Data(count: bytes), storagePolicy: policy)
  }

  @Test func findsWhatWasStoredByURLWithoutFragment() throws {
    let stored = try response(bytes: 10)
    cache.storeCachedResponse(stored, for: try request("a"))
    #expect(cache.cachedResponse(for: try request("a#part")) === stored)
    #expect(cache.cachedResponse(for: try request("b")) == nil)
    var post = try request("a")
    post.httpMethod = "POST"
    #expect(cache.cachedResponse(for: post) == nil)
    post.httpMethod = "HEAD"
    #expect(cache.cachedResponse(for: post) === stored)
    cache.removeCachedResponse(for: try request("a"))
    #expect(cache.cachedResponse(for: try request("a")) == nil)
    #expect(cache.currentMemoryUsage == 0)
  }

  @Test func throwsOutWhatWasNotUsedForLongest() throws {
    for path in ["a", "b", "c"] { cache.storeCachedResponse(try response(bytes: 30_000), for: try request(path)) }
    _ = cache.cachedResponse(for: try request("a"))
    cache.storeCachedResponse(try response(bytes: 30_000), for: try request("d"))
    #expect(cache.cachedResponse(for: try request("b")) == nil)
    for path in ["a", "c", "d"] { #expect(cache.cachedResponse(for: try request(path)) != nil) }
    #expect((90_000...100_000).contains(cache.currentMemoryUsage))
    cache.memoryCapacity = 40_000
    #expect(cache.cachedResponse(for: try request("d")) != nil)
    #expect(cache.cachedResponse(for: try request("c")) == nil)
    #expect(cache.currentMemoryUsage <= 40_000)
  }

  @Test func keepsNothingThatMustNotBeKeptOrDoesNotFit() throws {
    cache.storeCachedResponse(try response(bytes: 1, policy: .notAllowed), for: try request("a"))
    cache.storeCachedResponse(try response(bytes: 200_000), for: try request("b"))
    #expect(cache.currentMemoryUsage == 0)
    let nothing = URLCache(memoryCapacity: 0, diskCapacity: 0)
    nothing.storeCachedResponse(try response(bytes: 0), for: try request("a"))
    #expect(nothing.cachedResponse(for: try request("a")) == nil)
  }

  @Test func replacesAndRemoves() throws {
    cache.storeCachedResponse(try response(bytes: 10), for: try request("a"))
    let before = cache.currentMemoryUsage
    cache.storeCachedResponse(try response(bytes: 20), for: try request("a"))
    #expect(cache.currentMemoryUsage == before + 10)
    cache.removeCachedResponses(since: .distantFuture)
    #expect(cache.currentMemoryUsage > 0)
    cache.removeCachedResponses(since: .distantPast)
    #expect(cache.currentMemoryUsage == 0)
    for number in 0..<100 { cache.storeCachedResponse(try response(bytes: 1), for: try request("\(number)")) }
    cache.removeAllCachedResponses()
    #expect(cache.currentMemoryUsage == 0)
    #expect(cache.cachedResponse(for: try request("7")) == nil)
  }

  @Test func worksForTasks() async throws {
    let task = URLSession.shared.dataTask(with: try request("task"))
    let stored = try response(bytes: 1)
    cache.storeCachedResponse(stored, for: task)
    #expect(await cache.cachedResponse(for: task) === stored)
    cache.removeCachedResponse(for: task)
    #expect(await cache.cachedResponse(for: task) == nil)
  }

  @Test func theSharedCacheHasApplesCapacities() {
    #expect(URLCache.shared.memoryCapacity == 4 * 1024 * 1024)
    #expect(URLCache.shared.diskCapacity == 20 * 1024 * 1024)
    #expect(cache.diskCapacity == 5)
    #expect(URLCache().memoryCapacity == 0)
  }

  @Test func cachedResponsesSurviveArchives() throws {
    let url = try #require(URL(string: "https://example.com/"))
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: ["A": "b"]))
    let cached = CachedURLResponse(
      response: response, data: Data([1, 2, 3]), userInfo: ["k": "v"], storagePolicy: .allowedInMemoryOnly)
    let data = try NSKeyedArchiver.archivedData(withRootObject: cached, requiringSecureCoding: true)
    let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CachedURLResponse.self, from: data))
    #expect(restored.isEqual(cached))
    #expect((restored.response as? HTTPURLResponse)?.statusCode == 203)
    #expect(restored.userInfo?["k"] as? String == "v")
    #expect(CachedURLResponse(response: response, data: Data()).storagePolicy == .allowed)
  }
}

import Foundation
import Testing
import URLLoadingSystem

@testable import urlsession

/// `urlsession cache`, on a cache that another program has left.
struct CacheTests {
  private let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func fill(_ app: String, _ paths: [String]) throws {
    let folder = "\(sandbox.home.path)/cache/url-loading-system/apps/\(app)/responses"
    let cache = URLCache(memoryCapacity: 0, diskCapacity: 1_000_000, directory: URL(fileURLWithPath: folder))
    for path in paths {
      let url = try #require(URL(string: "https://example.com/\(path)"))
      let response = try #require(
        HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=600", "X-A": "b"]))
      cache.storeCachedResponse(
        CachedURLResponse(response: response, data: Data(count: 1_500)), for: URLRequest(url: url))
    }
    #expect(cache.currentDiskUsage > 0)
  }

  @Test func responsesAreListedShownAndCleared() async throws {
    try fill("one", ["a", "b"])
    try fill("two", ["a"])
    let apps = try await sandbox.run("cache", "list")
    #expect(apps.status == 0)
    #expect(apps.text.contains("one") && apps.text.contains("two"))
    let list = try await sandbox.run("cache", "list", "--app", "one")
    #expect(list.text.contains("https://example.com/a") && list.text.contains("1.5 KB"))
    let json = try await sandbox.run("cache", "list", "--json")
    #expect(json.text.contains("\"isFresh\""))
    let shown = try await sandbox.run("cache", "show", "https://example.com/a", "--app", "one")
    #expect(shown.text.contains("X-A: b") && shown.text.contains("fresh"))

    #expect(try await sandbox.run("cache", "clear", "--app", "one", "--url", "https://example.com/a").status == 0)
    let rest = try await sandbox.run("cache", "list", "--app", "one")
    #expect(!rest.text.contains("/a") && rest.text.contains("/b"))
    #expect(try await sandbox.run("cache", "clear").status == 0)
    let empty = try await sandbox.run("cache", "list", "--json")
    #expect(!empty.text.contains("example.com"))
  }

  @Test func unknownAppsAndURLsAreRefused() async throws {
    #expect(try await sandbox.run("cache", "list", "--app", "none").status == 64)
    #expect(try await sandbox.run("cache", "show", "https://example.com/none").status == 64)
    #expect(try await sandbox.run("cache", "list").status == 0)
  }
}

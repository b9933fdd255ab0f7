import Foundation
import Testing

@testable import URLLoadingSystem

@Suite struct CacheRemovalsTests {
  private let one = CacheKey("https://example.com/1")
  private let two = CacheKey("https://example.com/2")

  @Test func removalOfAKeyConcernsThatKey() {
    var removals = CacheRemovals()
    let moment = removals.moment
    removals.note(one)
    #expect(!removals.isCurrent(one, since: moment) && removals.isCurrent(two, since: moment))
    #expect(removals.isCurrent(one, since: removals.moment))
    removals.noteAll()
    #expect(!removals.isCurrent(two, since: moment) && removals.isCurrent(two, since: removals.moment))
  }

  @Test func manyRemovalsAreNotForgotten() {
    var removals = CacheRemovals()
    removals.note(one)
    let moment = removals.moment
    removals.note(one)
    for number in 0..<2_000 { removals.note(CacheKey("https://example.com/a\(number)")) }
    #expect(!removals.isCurrent(one, since: moment))
    #expect(removals.isCurrent(one, since: removals.moment))
  }

  enum Removal: CaseIterable { case key, all, since, replacement }

  /// A load finds a response on disk and waits; the response is removed; the load uses what it found.
  @Test(arguments: Removal.allCases) func removedResponseDoesNotComeBackIntoMemory(_ removal: Removal) throws {
    let place = TemporaryCache()
    let request = try place.request("a")
    place.cache().storeCachedResponse(try place.response(Data([1])), for: request)
    let cache = place.cache(memory: 100_000)
    let key = try #require(CacheKey(request))
    let (_, moment, disk) = cache.look(key)
    let found = try #require(disk?.queue.sync { disk?.items(for: key).first })
    switch removal {
    case .key: cache.removeCachedResponse(for: request)
    case .all: cache.removeAllCachedResponses()
    case .since: cache.removeCachedResponses(since: .distantPast)
    case .replacement: cache.storeCachedResponse(try place.response(Data([2])), for: request)
    }
    cache.use(found, foundAt: moment)
    cache.waitForDisk()
    #expect(cache.cachedResponse(for: request)?.data == (removal == .replacement ? Data([2]) : nil))
    #expect(cache.state.withLock { $0.memory.items(for: key).count } == (removal == .replacement ? 1 : 0))
  }

  @Test func updatedResponseIsKeptInMemory() throws {
    let place = TemporaryCache()
    let request = try place.request("a")
    place.cache().storeCachedResponse(try place.response(Data([1])), for: request)
    let cache = place.cache(memory: 100_000)
    let key = try #require(CacheKey(request))
    let (_, moment, disk) = cache.look(key)
    let found = try #require(disk?.queue.sync { disk?.items(for: key).first })
    cache.use(found, foundAt: cache.update(found.id, head: found.head, foundAt: moment))
    #expect(cache.currentMemoryUsage > 0)
  }
}

import Synchronization
import Testing

@testable import URLLoadingSystem

@Suite struct SharedFetchTests {
  private let key = CacheKey("https://example.com/a")

  private func lead(_ fetches: SharedFetches) throws -> SharedFetch {
    guard case .lead(let fetch) = fetches.part(for: key, mayLead: true) else {
      throw PartIsAnother()
    }
    return fetch
  }

  private struct PartIsAnother: Error {}

  /// The fetch may never end. Loads that come later must not wait for it, whatever they learn about the URL meanwhile.
  @Test func slowFetchMakesRoomForAnother() throws {
    let fetches = SharedFetches()
    let slow = try lead(fetches)
    let wakes = Mutex(0)
    _ = slow.join(SharedFetch.Follower(isAnswered: { _ in true }, wake: { wakes.withLock { $0 += 1 } }))
    slow.reportSlow()
    guard case .alone = fetches.part(for: key, mayLead: true) else {
      Issue.record("The next load would wait.")
      return
    }
    fetches.note(key, isUseful: true)
    let next = try lead(fetches)
    #expect(next !== slow)
    #expect(slow.followerCount == 1)
    slow.end()
    #expect(wakes.withLock { $0 } == 1)
    // The end of the slow one does not end the other.
    guard case .follow(let followed) = fetches.part(for: key, mayLead: true) else {
      Issue.record("The next load would not wait.")
      return
    }
    #expect(followed === next)
  }
}

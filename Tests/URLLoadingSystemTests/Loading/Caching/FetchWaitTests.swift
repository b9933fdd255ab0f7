import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Loads of one URL at a time: one fetches, the others wait where its response may answer them.
@Suite(.overHTTP1To3) struct FetchWaitTests {
  private static let fresh: HeaderList = [("Cache-Control", "max-age=3600")]

  /// In memory, with waits that end only by what the tests do.
  private func patientCache() -> URLCache {
    let cache = URLCache(memoryCapacity: 4_000_000, diskCapacity: 0)
    cache.fetches.waitLimits = SharedFetches.WaitLimits(head: .minutes(5), whole: .minutes(5))
    return cache
  }

  /// A server that answers the first request as `first` says, and the others at once.
  private func withServer(
    first: @escaping @Sendable () -> Reply, others fields: HeaderList = FetchWaitTests.fresh,
    _ body: (LoopbackServer, URLSession, URLCache) async throws -> Void
  ) async throws {
    let cache = patientCache()
    let count = Mutex(0)
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      return number == 1 ? first() : .ok("other", fields: fields)
    }
    try await server.withSession(configure: { $0.urlCache = cache }) { server, session in
      try await body(server, session, cache)
    }
  }

  private func load(_ session: URLSession, _ url: URL, _ fields: [String: String] = [:], timeout: TimeInterval = 600)
    -> Task<String, any Error>
  {
    Task {
      var request = URLRequest(url: url, timeoutInterval: timeout)
      for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
      return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }
  }

  private func followers(_ cache: URLCache, _ url: URL, are count: Int) async throws {
    let key = CacheKey(url.absoluteString)
    try await eventually("\(count) loads wait") {
      guard case .follow(let fetch) = cache.fetches.part(for: key, mayLead: false) else { return false }
      return fetch.followerCount == count
    }
  }

  @Test func concurrentLoadsShareOneFetch() async throws {
    let gate = Gate()
    try await withServer(
      first: { Reply([.waitFor(gate), .head(200, fields: Self.fresh + [("Content-Length", "5")]), .body("first")]) }
    ) { server, session, cache in
      let url = server.url("/a")
      let loads = (0..<8).map { _ in load(session, url) }
      try await followers(cache, url, are: 7)
      try await eventually("the first load asks") { server.requests.count == 1 }
      gate.open()
      for task in loads {
        let text = try await task.value
        #expect(text == "first")
      }
      #expect(server.requests.count == 1)
    }
  }

  @Test(
    arguments: [[("Cache-Control", "no-store")], [("Cache-Control", "no-cache"), ("ETag", "\"e\"")], []] as [HeaderList]
  )
  func loadsFetchForThemselvesWhatMayNotBeShared(_ fields: HeaderList) async throws {
    let gate = Gate()
    try await withServer(
      first: { Reply([.waitFor(gate), .head(200, fields: fields + [("Content-Length", "5")]), .body("first")]) },
      others: fields
    ) { server, session, cache in
      let url = server.url("/a")
      let first = load(session, url)
      _ = try await server.nextRequest()
      let others = (0..<3).map { _ in load(session, url) }
      try await followers(cache, url, are: 3)
      gate.open()
      for task in others {
        let text = try await task.value
        #expect(text == "other")
      }
      _ = try await first.value
      #expect(server.requests.count == 4)
      // From now on such loads do not wait.
      guard case .alone = cache.fetches.part(for: CacheKey(url.absoluteString), mayLead: true) else {
        Issue.record("The next loads would wait.")
        return
      }
    }
  }

  /// The head says that the response answers other requests than this one: its body is not waited for.
  @Test(arguments: [["X": "2"], ["Authorization": "Basic YQ=="]])
  func loadsThatTheResponseDoesNotAnswerGoOn(_ fields: [String: String]) async throws {
    let (gate, end) = (Gate(), Gate())
    try await withServer(
      first: {
        Reply([
          .waitFor(gate), .head(200, fields: Self.fresh + [("Vary", "X"), ("Content-Length", "5")]), .body("fi"),
          .waitFor(end), .body("rst"),
        ])
      }
    ) { server, session, cache in
      let url = server.url("/a")
      let first = load(session, url, ["X": "1", "Authorization": "Basic Yg=="])
      _ = try await server.nextRequest()
      let other = load(session, url, ["X": "1"].merging(fields) { $1 })
      try await followers(cache, url, are: 1)
      gate.open()
      let text = try await other.value
      #expect(text == "other")
      end.open()
      let whole = try await first.value
      #expect(whole == "first")
    }
  }

  @Test func loadsGoOnWhenTheFirstIsCancelled() async throws {
    let gate = Gate()
    try await withServer(first: { Reply([.waitFor(gate), .stall]) }) { server, session, cache in
      let url = server.url("/a")
      let first = load(session, url)
      _ = try await server.nextRequest()
      let others = (0..<3).map { _ in load(session, url) }
      try await followers(cache, url, are: 3)
      first.cancel()
      for task in others {
        let text = try await task.value
        #expect(text == "other")
      }
      #expect(server.requests.count == 2)
      gate.open()
    }
  }

  @Test func waitingLoadCanBeCancelled() async throws {
    let gate = Gate()
    try await withServer(
      first: { Reply([.waitFor(gate), .head(200, fields: Self.fresh + [("Content-Length", "5")]), .body("first")]) }
    ) { server, session, cache in
      let url = server.url("/a")
      let first = load(session, url)
      _ = try await server.nextRequest()
      let other = load(session, url)
      try await followers(cache, url, are: 1)
      other.cancel()
      await #expect(throws: (any Error).self) { _ = try await other.value }
      gate.open()
      let text = try await first.value
      #expect(text == "first")
      #expect(server.requests.count == 1)
    }
  }

  /// Neither a server that does not answer the first request nor a body that does not end keeps another load waiting.
  @Test(arguments: [true, false]) func loadsDoNotWaitForASlowFetch(_ hasHead: Bool) async throws {
    let gate = Gate()
    try await withServer(
      first: {
        Reply(
          (hasHead ? [.head(200, fields: Self.fresh + [("Content-Length", "5")]), .body("fi")] : []) + [
            .waitFor(gate), .reset,
          ])
      }
    ) { server, session, cache in
      let url = server.url("/a")
      let first = load(session, url)
      _ = try await server.nextRequest()
      let other = load(session, url, timeout: 2.5)
      let text = try await other.value
      #expect(text == "other")
      // That wait was too short to call the fetch slow.
      if case .alone = cache.fetches.part(for: CacheKey(url.absoluteString), mayLead: false), !hasHead {
        Issue.record("The next loads would not wait.")
      }
      gate.open()
      _ = await first.result
    }
  }

  /// A stale response is validated once.
  @Test func concurrentLoadsShareOneValidation() async throws {
    let gate = Gate()
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.value("If-None-Match") == nil
        ? .ok("body", fields: [("Cache-Control", "max-age=10"), ("Age", "60"), ("ETag", "\"e\"")])
        : Reply([.waitFor(gate), .head(304, fields: [("Cache-Control", "max-age=600"), ("ETag", "\"e\"")])])
    }
    let cache = patientCache()
    try await server.withSession(configure: { $0.urlCache = cache }) { server, session in
      let url = server.url("/a")
      _ = try await load(session, url).value
      // That response was of no use to others; one that is must come before loads wait.
      cache.fetches.note(CacheKey(url.absoluteString), isUseful: true)
      let loads = (0..<4).map { _ in load(session, url) }
      try await followers(cache, url, are: 3)
      gate.open()
      for task in loads {
        let text = try await task.value
        #expect(text == "body")
      }
      #expect(server.requests.count == 2)
    }
  }
}

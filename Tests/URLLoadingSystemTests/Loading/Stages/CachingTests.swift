import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Caching over the network. What may be stored and used is in the tables of `CacheDecisionTests`.
@Suite(.overHTTP1To3) struct CachingTests {
  /// A server whose answers are numbered, with a session.
  func withCache(
    _ fields: HeaderList, cache: URLCache? = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0),
    reply: (@Sendable (RecordedRequest, Int) -> Reply)? = nil,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let count = Mutex(0)
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      return reply?(request, number) ?? .ok("\(number)", fields: fields)
    }
    try await server.withSession(configure: { $0.urlCache = cache }, body)
  }

  func text(_ session: URLSession, _ request: URLRequest) async throws -> (String, HTTPURLResponse) {
    let (data, response) = try await session.data(for: request)
    return (String(decoding: data, as: UTF8.self), try #require(response as? HTTPURLResponse))
  }

  func texts(_ session: URLSession, _ request: URLRequest, _ count: Int) async throws -> [String] {
    var texts: [String] = []
    for _ in 0..<count { texts.append(try await text(session, request).0) }
    return texts
  }

  static let fresh: HeaderList = [("Cache-Control", "max-age=3600")]
  private static let stale: HeaderList = [("Cache-Control", "max-age=10"), ("Age", "60"), ("ETag", "\"e\"")]

  // MARK: Hits

  @Test func freshResponseAnswersTheNextRequest() async throws {
    try await withCache(CachingTests.fresh) { server, session in
      let request = URLRequest(url: server.url("/a"))
      let result1 = try await texts(session, request, 3)
      #expect(result1 == ["1", "1", "1"])
      #expect(server.requests.count == 1)
      let (_, response) = try await text(session, request)
      #expect(response.value(forHTTPHeaderField: "Age") != nil)
      #expect(response.url == server.url("/a"))
    }
  }

  @Test func headIsAnsweredFromTheAnswerToGet() async throws {
    try await withCache(CachingTests.fresh) { server, session in
      var request = URLRequest(url: server.url())
      _ = try await text(session, request)
      request.httpMethod = "HEAD"
      let (body, response) = try await text(session, request)
      #expect(body.isEmpty && response.expectedContentLength == 1)
      #expect(server.requests.count == 1)
    }
  }

  @Test func sessionsWithoutACacheStoreNothing() async throws {
    try await withCache(CachingTests.fresh, cache: nil) { server, session in
      let result2 = try await texts(session, URLRequest(url: server.url()), 2)
      #expect(result2 == ["1", "2"])
    }
  }

  @Test func downloadsAreNotStoredAndAnswered() async throws {
    try await withCache(CachingTests.fresh) { server, session in
      let request = URLRequest(url: server.url())
      let (file, _) = try await session.download(for: request)
      try FileManager.default.removeItem(at: file)
      let result3 = try await text(session, request).0
      #expect(result3 == "2")
      let (second, _) = try await session.download(for: request)
      #expect(try String(contentsOf: second, encoding: .utf8) == "2")
      try FileManager.default.removeItem(at: second)
    }
  }

  @Test func compressedResponseIsDecodedOutOfTheCache() async throws {
    let text = String(repeating: "words ", count: 10_000)
    let coded = CodedBytes.gzip.encode(Array(text.utf8))
    try await withCache(
      [], reply: { _, _ in .ok(coded, type: "text/plain", fields: CachingTests.fresh + [("Content-Encoding", "gzip")]) }
    ) { server, session in
      let request = URLRequest(url: server.url())
      let result4 = try await texts(session, request, 2)
      #expect(result4 == [text, text])
      #expect(server.requests.count == 1)
      let stored = session.configuration.urlCache?.cachedResponse(for: request)
      #expect(stored?.data == Data(text.utf8))
    }
  }

  @Test func largeBodyStreamsThroughTheDisk() async throws {
    let place = TemporaryCache()
    let count: Int64 = 3_000_000
    try await withCache(
      [], cache: place.cache(disk: 100_000_000),
      reply: { _, _ in .pattern(BytePattern(), count: count, fields: CachingTests.fresh) }
    ) { server, session in
      let request = URLRequest(url: server.url())
      let (first, _) = try await session.data(for: request)
      let (second, _) = try await session.data(for: request)
      #expect(first.count == Int(count) && first == second)
      #expect(server.requests.count == 1)
      #expect(place.bodies.count == 1)
      // The next process finds it, and a part of it.
      let configuration = URLSessionConfiguration.loopback
      configuration.urlCache = place.cache(disk: 100_000_000)
      let next = URLSession(configuration: configuration)
      defer { next.invalidateAndCancel() }
      let third = try await next.data(for: request).0
      #expect(third == first)
      var part = request
      part.setValue("bytes=1000000-1999999", forHTTPHeaderField: "Range")
      let (bytes, response) = try await next.data(for: part)
      #expect((response as? HTTPURLResponse)?.statusCode == 206)
      #expect(bytes == first[1_000_000..<2_000_000])
      #expect(server.requests.count == 1)
    }
  }

  @Test func brokenBodyIsNotStored() async throws {
    try await withCache(
      [],
      reply: { _, number in
        number == 1
          ? Reply([
            .head(200, fields: CachingTests.fresh + [("Content-Length", "100")]), .bytes([1, 2, 3]),
            .closeGracefully,
          ]) : .ok("whole", fields: CachingTests.fresh)
      }
    ) { server, session in
      let request = URLRequest(url: server.url())
      await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      let result5 = try await texts(session, request, 2)
      #expect(result5 == ["whole", "whole"])
    }
  }

  // MARK: Validation

  @Test func staleResponseIsValidated() async throws {
    try await withCache(
      [],
      reply: { request, number in
        request.value("If-None-Match") == "\"e\""
          ? .status(304, fields: CachingTests.stale + [("X-New", "yes")]) : .ok("\(number)", fields: CachingTests.stale)
      }
    ) { server, session in
      let request = URLRequest(url: server.url())
      let result6 = try await text(session, request).0
      #expect(result6 == "1")
      let (body, response) = try await text(session, request)
      #expect(body == "1" && response.statusCode == 200)
      #expect(response.value(forHTTPHeaderField: "X-New") == "yes")
      #expect(server.requests.count == 2)
      // The connection of the 304 serves further requests.
      _ = try await text(session, request)
      #expect(server.connectionCount == 1)
    }
  }

  @Test func responseInMemoryIsValidatedWithoutTheDisk() async throws {
    let place = TemporaryCache()
    let cache = place.cache(memory: 1_000_000)
    try await withCache(
      [], cache: cache,
      reply: { request, number in
        request.value("If-None-Match") == "\"e\""
          ? .status(304, fields: CachingTests.stale) : .ok("\(number)", fields: CachingTests.stale)
      }
    ) { server, session in
      let request = URLRequest(url: server.url())
      _ = try await text(session, request)
      place.waitForDisk()
      let disk = try #require(cache.disk)
      disk.queue.suspend()
      defer { disk.queue.resume() }
      let bodies = try await texts(session, request, 3)
      #expect(bodies == ["1", "1", "1"])
      #expect(server.requests.count == 4)
    }
  }

  @Test func confirmationOfAnotherResponseIsNotTaken() async throws {
    try await withCache(
      [],
      reply: { request, number in
        request.value("If-None-Match") == nil
          ? .ok("\(number)", fields: CachingTests.stale) : .status(304, fields: [("ETag", "\"f\"")])
      }
    ) { server, session in
      let result = try await texts(session, URLRequest(url: server.url()), 2)
      #expect(result == ["1", "3"])
      #expect(server.requests.map { $0.value("If-None-Match") } == [nil, "\"e\"", nil])
      #expect(server.connectionCount == 1)
    }
  }

  @Test func conditionOfTheAppPassesThrough() async throws {
    try await withCache([], reply: { _, _ in .status(304, fields: [("ETag", "\"x\"")]) }) { server, session in
      var request = URLRequest(url: server.url())
      request.setValue("\"x\"", forHTTPHeaderField: "If-None-Match")
      let result7 = try await text(session, request).1.statusCode
      #expect(result7 == 304)
    }
  }

  @Test func staleResponseStandsInForAnError() async throws {
    try await withCache(
      [],
      reply: { _, number in
        number == 1
          ? .ok("1", fields: [("Cache-Control", "max-age=1, stale-if-error=600"), ("Age", "60")]) : .status(500)
      }
    ) { server, session in
      let result8 = try await texts(session, URLRequest(url: server.url()), 2)
      #expect(result8 == ["1", "1"])
      #expect(server.requests.count == 2)
    }
  }

  @Test func staleResponseIsGivenOutWhileTheOriginIsAsked() async throws {
    try await withCache([
      ("Cache-Control", "max-age=1, stale-while-revalidate=600"), ("Age", "60"), ("ETag", "\"e\""),
    ]) { server, session in
      let request = URLRequest(url: server.url())
      let result9 = try await texts(session, request, 2)
      #expect(result9 == ["1", "1"])
      _ = try await server.nextRequest()
      let second = try await server.nextRequest()
      #expect(second.value("If-None-Match") == "\"e\"")
    }
  }

  @Test func variantsAreKeptBesideEachOther() async throws {
    try await withCache(CachingTests.fresh + [("Vary", "X-Kind")]) { server, session in
      var one = URLRequest(url: server.url())
      one.setValue("1", forHTTPHeaderField: "X-Kind")
      var two = one
      two.setValue("2", forHTTPHeaderField: "X-Kind")
      let results = try await texts(session, one, 1) + texts(session, two, 2) + texts(session, one, 1)
      #expect(results == ["1", "2", "2", "1"])
    }
  }

  @Test func unsafeMethodInvalidates() async throws {
    try await withCache(CachingTests.fresh) { server, session in
      let request = URLRequest(url: server.url())
      var post = request
      post.httpMethod = "POST"
      let results = try await texts(session, request, 2) + texts(session, post, 1) + texts(session, request, 1)
      #expect(results == ["1", "1", "2", "3"])
    }
  }

  @Test func beginningIsCompleted() async throws {
    try await withCache(
      [],
      reply: { request, _ in
        let fields: HeaderList = [("Cache-Control", "max-age=3600"), ("ETag", "\"e\"")]
        switch request.value("Range") {
        case "bytes=0-4": return .status(206, fields: fields + [("Content-Range", "bytes 0-4/10")], body: "01234")
        case "bytes=5-": return .status(206, fields: fields + [("Content-Range", "bytes 5-9/10")], body: "56789")
        default: return .ok("0123456789", fields: fields)
        }
      }
    ) { server, session in
      var part = URLRequest(url: server.url())
      part.setValue("bytes=0-4", forHTTPHeaderField: "Range")
      let result10 = try await text(session, part).0
      #expect(result10 == "01234")
      let (whole, response) = try await text(session, URLRequest(url: server.url()))
      #expect(whole == "0123456789" && response.statusCode == 200)
      #expect(server.requests.last?.value("If-Range") == "\"e\"")
      let result11 = try await text(session, URLRequest(url: server.url())).0
      #expect(result11 == "0123456789")
      #expect(server.requests.count == 2)
    }
  }
}

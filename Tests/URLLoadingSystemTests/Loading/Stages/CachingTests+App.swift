import EveryVersion
import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import Synchronization
import Testing

@testable import URLLoadingSystem

/// What the app says of caching: policies, its delegate, and its subclass of the cache.
extension CachingTests {
  // MARK: Policies

  @Test(
    arguments: [
      (.useProtocolCachePolicy, "1"), (.reloadIgnoringLocalCacheData, "2"),
      (.reloadIgnoringLocalAndRemoteCacheData, "2"), (.returnCacheDataElseLoad, "1"), (.returnCacheDataDontLoad, "1"),
      (.reloadRevalidatingCacheData, "2"),
    ] as [(URLRequest.CachePolicy, String)])
  func policyDecides(_ policy: URLRequest.CachePolicy, _ body: String) async throws {
    try await withCache(CachingTests.fresh) { server, session in
      _ = try await text(session, URLRequest(url: server.url()))
      let request = URLRequest(url: server.url(), cachePolicy: policy)
      let result12 = try await text(session, request).0
      #expect(result12 == body)
    }
  }

  @Test func missFailsWhereTheNetworkIsForbidden() async throws {
    try await withCache(CachingTests.fresh) { server, session in
      let request = URLRequest(url: server.url(), cachePolicy: .returnCacheDataDontLoad)
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .resourceUnavailable)
      #expect((error?.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .cannotLoadFromNetwork)
      var only = URLRequest(url: server.url())
      only.setValue("only-if-cached", forHTTPHeaderField: "Cache-Control")
      let result13 = try await text(session, only).1.statusCode
      #expect(result13 == 504)
      #expect(server.requests.isEmpty)
    }
  }

  @Test func policyOfTheSessionCountsWhereTheRequestHasNone() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .ok("a", fields: CachingTests.fresh)
    }
    try await server.withSession(configure: { $0.requestCachePolicy = .reloadIgnoringLocalCacheData }) {
      server, session in
      _ = try await texts(session, URLRequest(url: server.url()), 2)
      #expect(server.requests.count == 2)
      _ = try await text(session, URLRequest(url: server.url(), cachePolicy: .returnCacheDataElseLoad))
      #expect(server.requests.count == 2)
    }
  }

  // MARK: The app's word

  private final class CacheDelegate: NSObject, URLSessionDataDelegate, Sendable {
    let answer: @Sendable (CachedURLResponse) -> CachedURLResponse?
    let proposals = Recorder<Data>()
    let events = Recorder<String>()

    init(_ answer: @escaping @Sendable (CachedURLResponse) -> CachedURLResponse?) { self.answer = answer }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
      completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      proposals.record(proposedResponse.data)
      events.record("willCache")
      completionHandler(answer(proposedResponse))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      events.record("end")
    }
  }

  private func load(
    _ delegate: CacheDelegate, _ fields: HeaderList, _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in .ok("body", fields: fields) }
    let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    session.dataTask(with: server.url()).resume()
    let result14 = try await delegate.events.first(2)
    #expect(result14 == ["willCache", "end"])
    try await body(server, session)
    await server.shutdown()
  }

  @Test func delegateMayRefuse() async throws {
    try await load(CacheDelegate { _ in nil }, CachingTests.fresh) { server, session in
      #expect(session.configuration.urlCache?.cachedResponse(for: URLRequest(url: server.url())) == nil)
    }
  }

  @Test func delegateMayChangeWhatIsStored() async throws {
    let delegate = CacheDelegate {
      CachedURLResponse(response: $0.response, data: Data("other".utf8), userInfo: ["k": 1], storagePolicy: .allowed)
    }
    try await load(delegate, CachingTests.fresh) { server, session in
      #expect(delegate.proposals.all == [Data("body".utf8)])
      let stored = session.configuration.urlCache?.cachedResponse(for: URLRequest(url: server.url()))
      #expect(stored?.data == Data("other".utf8) && stored?.userInfo?["k"] as? Int == 1)
      let result15 = try await session.data(from: server.url()).0
      #expect(result15 == Data("other".utf8))
      #expect(server.requests.count == 1)
    }
  }

  @Test func metricsSayWhereTheResponseCameFrom() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .ok("a", fields: CachingTests.fresh)
    }
    let delegate = RecordingDelegate()
    let session = URLSession.recording(delegate)
    defer { session.invalidateAndCancel() }
    session.dataTask(with: server.url()).resume()
    _ = try await delegate.metrics.next()
    session.dataTask(with: server.url()).resume()
    let metrics = try await delegate.metrics.next()
    #expect(metrics.transactionMetrics.map(\.resourceFetchType) == [.localCache])
    #expect(metrics.transactionMetrics.first?.countOfResponseBodyBytesAfterDecoding == 1)
    await server.shutdown()
  }

  // MARK: Subclasses

  private final class OwnCache: URLCache, @unchecked Sendable {
    // Sendable by hand: the dictionary is behind a lock.
    let stored = Mutex<[URL: CachedURLResponse]>([:])
    let calls = Recorder<String>()

    override func getCachedResponse(
      for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      calls.record("get")
      let url = dataTask.currentRequest?.url
      completionHandler(stored.withLock { stored in url.flatMap { stored[$0] } })
    }

    override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
      calls.record("store")
      guard let url = dataTask.currentRequest?.url else { return }
      stored.withLock { $0[url] = cachedResponse }
    }

    override func removeCachedResponse(for request: URLRequest) { calls.record("remove") }
  }

  @Test func subclassIsAskedForTheTask() async throws {
    let cache = OwnCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    try await withCache(CachingTests.fresh, cache: cache) { server, session in
      let result16 = try await texts(session, URLRequest(url: server.url()), 2)
      #expect(result16 == ["1", "1"])
      #expect(cache.calls.all == ["get", "store", "get"])
      var delete = URLRequest(url: server.url())
      delete.httpMethod = "DELETE"
      _ = try await text(session, delete)
      let result17 = try await cache.calls.first(4).last
      #expect(result17 == "remove")
    }
  }

  /// Files are read and written by the threads of the process-wide pool.
  @Test func aSubclassThatBlocksLeavesThePoolToOthers() async throws {
    final class BlockingCache: URLCache, @unchecked Sendable {
      // Sendable by hand: constants.
      let isAsked = Recorder<Bool>()
      let mayAnswer = DispatchSemaphore(value: 0)
      let waits = Recorder<DispatchTimeoutResult>()

      override func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
      ) {
        isAsked.record(true)
        waits.record(mayAnswer.wait(timeout: .now() + 60))
        completionHandler(nil)
      }
    }
    let cache = BlockingCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    let count = NIOSingletons.blockingPoolThreadCountSuggestion
    try await withCache(CachingTests.fresh, cache: cache) { server, session in
      for _ in 0..<count { session.dataTask(with: server.url()) { _, _, _ in }.resume() }
      _ = try await cache.isAsked.first(count)
      try await BlockingWork.files {}
      for _ in 0..<count { cache.mayAnswer.signal() }
      let waits = try await cache.waits.first(count)
      #expect(waits.allSatisfy { $0 == .success })
    }
  }

  /// Cancelling the load does not wait for the app.
  @Test func aSubclassThatBlocksDoesNotHoldACancelledLoad() async throws {
    final class BlockingCache: URLCache, @unchecked Sendable {
      // Sendable by hand: constants.
      let isAsked = Gate()
      let mayReturn = DispatchSemaphore(value: 0)

      override func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
      ) { completionHandler(nil) }

      override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        isAsked.open()
        mayReturn.wait()
      }
    }
    let cache = BlockingCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    defer { cache.mayReturn.signal() }
    try await withCache(CachingTests.fresh, cache: cache) { server, session in
      let ended = Recorder<Int>()
      let task = session.dataTask(with: server.url()) { ended.record(($2 as? URLError)?.code.rawValue ?? 0) }
      task.resume()
      try await cache.isAsked.wait(within: patience)
      task.cancel()
      let code = try await ended.next()
      #expect(code == URLError.cancelled.rawValue)
    }
  }
}

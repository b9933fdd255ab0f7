import Dispatch
import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Loads that need no socket go on where they are started, and wait for no event loop.
@Suite struct InlineLoadTests {
  private static let address = "http://inline.test/a"

  /// Runs `body` while the event loop of the connections to `host` does nothing.
  private func withBusyLoop(
    of host: String?, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let executor = HTTPTransport(configuration: TransportConfiguration()).executor(forHost: host)
    let (isBusy, end) = (Gate(), DispatchSemaphore(value: 0))
    defer { end.signal() }
    executor.loop.execute {
      isBusy.open()
      // A load that does wait for the loop ends, too late.
      _ = end.wait(timeout: .now() + 20)
    }
    try await isBusy.wait(within: patience)
    try await within(patience, "a load without an event loop") { try await body() }
  }

  private func session(with cache: URLCache) throws -> (URLSession, URLRequest) {
    let configuration = URLSessionConfiguration.loopback
    configuration.urlCache = cache
    let url = try #require(URL(string: InlineLoadTests.address))
    let response = try #require(
      HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=3600"]))
    let request = URLRequest(url: url)
    cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("stored".utf8)), for: request)
    return (URLSession(configuration: configuration), request)
  }

  @Test func aResponseInMemoryAnswersAtOnce() async throws {
    let (session, request) = try session(with: URLCache(memoryCapacity: 1_000_000, diskCapacity: 0))
    defer { session.invalidateAndCancel() }
    try await withBusyLoop(of: request.url?.host) {
      let answer = try await session.data(for: request).0
      #expect(answer == Data("stored".utf8))
      let ended = Recorder<Data?>()
      session.dataTask(with: request) { data, _, _ in ended.record(data) }.resume()
      let told = try await ended.next()
      #expect(told == Data("stored".utf8))
    }
  }

  @Test func aResponseOnDiskAnswersWithoutTheLoop() async throws {
    let place = TemporaryCache()
    let (session, request) = try session(with: place.cache(disk: 1_000_000))
    defer { session.invalidateAndCancel() }
    try await withBusyLoop(of: request.url?.host) {
      let answer = try await session.data(for: request).0
      #expect(answer == Data("stored".utf8))
    }
  }

  @Test func aProtocolAnswersWithoutTheLoop() async throws {
    let script = ProtocolScript { $0.answer("made up") }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let url = try script.url()
    try await withBusyLoop(of: script.host) {
      let answer = try await session.data(from: url).0
      #expect(answer == Data("made up".utf8))
    }
  }

  /// The thread that brings the rest of the body hands it on.
  @Test func aProtocolThatAnswersInPiecesNeedsNoLoop() async throws {
    let go = Gate()
    let script = ProtocolScript { mock in
      mock.respond()
      mock.load("one ")
      Task {
        try await go.wait(within: patience)
        mock.load("two")
        mock.finish()
      }
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let url = try script.url()
    try await withBusyLoop(of: script.host) {
      async let answer = session.data(from: url).0
      _ = try await script.requests.next()
      go.open()
      let whole = try await answer
      #expect(whole == Data("one two".utf8))
    }
  }

  /// The timers run also for a load that has not come to the loop.
  @Test func aProtocolThatSaysNothingTimesOut() async throws {
    let script = ProtocolScript { $0.respond() }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: try script.url())
    request.timeoutInterval = 0.2
    let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
    #expect(error?.code == .timedOut)
    _ = try await script.stops.next()
  }

  enum Source: CaseIterable { case memory, protocolOfTheApp }

  /// Threads that start tasks and threads that cancel them: each task ends once, with its data or as cancelled.
  @Test(arguments: Source.allCases) func aCancelAtAnyMomentEndsTheTaskOnce(source: Source) async throws {
    let script = ProtocolScript { $0.answer("stored") }
    let (cached, stored) = try session(with: URLCache(memoryCapacity: 1_000_000, diskCapacity: 0))
    let session = source == .memory ? cached : script.session()
    let request = source == .memory ? stored : URLRequest(url: try script.url())
    defer {
      cached.invalidateAndCancel()
      session.invalidateAndCancel()
    }
    let count = 500
    let ends = Recorder<String>()
    for _ in 0..<count {
      let task = session.dataTask(with: request) { data, _, error in
        if let error {
          ends.record((error as? URLError)?.code == .cancelled ? "cancelled" : "\(error)")
        } else {
          ends.record(String(decoding: data ?? Data(), as: UTF8.self))
        }
      }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { task.resume() }
        group.addTask { task.cancel() }
      }
    }
    let all = try await ends.first(count)
    #expect(all.allSatisfy { ["stored", "cancelled"].contains($0) } && ends.count == count)
  }
}

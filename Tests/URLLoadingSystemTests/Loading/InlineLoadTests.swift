import Dispatch
import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Loads that need no socket go on where they are started, and wait for no event loop.
@Suite struct InlineLoadTests {
  private static let address = "http://inline.test/a"

  /// Requires that `body` ends while the event loop of the connections to `host` does nothing.
  ///
  /// Other tests use the loop, too, and some of them keep all threads of Swift's tasks waiting for it: it is held for a
  /// moment only, and again when that was too short for `body`.
  private func withBusyLoop(
    of host: String?, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let executor = HTTPTransport(configuration: TransportConfiguration()).executor(forHost: host)
    for _ in 0..<40 {
      let (isBusy, end, wasFreed) = (Gate(), DispatchSemaphore(value: 0), Recorder<Bool>())
      executor.loop.execute {
        isBusy.open()
        wasFreed.record(end.wait(timeout: .now() + 0.5) == .success)
      }
      try await isBusy.wait(within: patience)
      do { try await within(patience, "a load without an event loop") { try await body() } } catch {
        end.signal()
        throw error
      }
      end.signal()
      if try await wasFreed.next() { return }
    }
    Issue.record("No load ended while the event loop was busy.")
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

  /// A stale response: the load leaves the thread of its caller, which goes on using the task.
  @Test func aTaskMayBeChangedWhileItsLoadMoves() async throws {
    let server = try await LoopbackServer.start { _ in .ok("new", fields: [("Cache-Control", "max-age=0")]) }
    try await server.withSession(configure: { $0.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0) }) {
      server, session in
      let ends = Recorder<String>()
      let count = 300
      for number in 0..<count {
        let task = session.dataTask(with: server.url()) { data, _, error in
          ends.record(error.map { "\($0)" } ?? String(decoding: data ?? Data(), as: UTF8.self))
        }
        task.resume()
        task.priority = number % 2 == 0 ? 1 : 0
        task.taskDescription = "\(number)"
        task.suspend()
        task.resume()
      }
      let all = try await ends.first(count)
      #expect(Set(all) == ["new"])
    }
  }

  /// Challenges that are withdrawn, or come twice, while the load is still on a thread of its caller.
  @Test func challengesOfAProtocolMoveItsLoad() async throws {
    for _ in 0..<100 {
      let script = ProtocolScript { mock in
        let space = URLProtectionSpace(
          host: "inline.test", port: 80, protocol: "http", realm: "r",
          authenticationMethod: NSURLAuthenticationMethodDefault)
        for _ in 0..<2 {
          let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: SilentSender.shared)
          mock.client?.urlProtocol(mock, didReceive: challenge)
          mock.client?.urlProtocol(mock, didCancel: challenge)
        }
        mock.answer("in the end")
      }
      let session = script.session()
      let answer = try await within(patience, "the load's end") { try await session.data(from: script.url()).0 }
      #expect(answer == Data("in the end".utf8))
      session.invalidateAndCancel()
    }
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

/// Takes every answer to a challenge, and does nothing with it.
private final class SilentSender: NSObject, URLAuthenticationChallengeSender, Sendable {
  static let shared = SilentSender()

  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

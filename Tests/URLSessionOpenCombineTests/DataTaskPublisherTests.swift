import EveryVersion
import Foundation
import LoopbackServer
import OpenCombine
import Testing
import URLLoadingSystem
import URLSessionOpenCombine

@Suite struct DataTaskPublisherTests {
  /// Over the version of HTTP that the test is about.
  private func withServer(
    _ handler: @escaping LoopbackServer.Handler, _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls(), handler: handler)
    let configuration = URLSessionConfiguration.loopback
    let session = URLSession(configuration: configuration)
    do { try await body(server, session) } catch {
      session.invalidateAndCancel()
      await server.shutdown()
      throw error
    }
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test(.overHTTP1To3) func oneValueComesThenTheEnd() async throws {
    try await withServer({ $0.target == "/missing" ? .status(404, body: "none") : .ok($0.method) }) { server, session in
      var request = URLRequest(url: server.url())
      request.httpMethod = "DELETE"
      let publishers = [
        session.dataTaskPublisher(for: server.url()), session.dataTaskPublisher(for: request),
        session.dataTaskPublisher(for: server.url("/missing")),
      ]
      for (publisher, value) in zip(publishers, ["200 GET", "200 DELETE", "404 none"]) {
        let recorder = SubscriberRecorder()
        publisher.subscribe(recorder)
        recorder.demand(.max(1))
        await recorder.end()
        #expect(recorder.events == [value, "finished"])
      }
      #expect(publishers[1].request == request && publishers[1].session === session)
    }
  }

  @Test(.overHTTP1To3) func nothingIsLoadedBeforeADemand() async throws {
    try await withServer({ .ok($0.target) }) { server, session in
      let (idle, late) = (SubscriberRecorder(), SubscriberRecorder())
      session.dataTaskPublisher(for: server.url("/idle")).subscribe(idle)
      session.dataTaskPublisher(for: server.url("/late")).subscribe(late)
      idle.demand(.none)
      #expect(await session.allTasks.isEmpty)
      late.demand(.unlimited)
      await late.end()
      // A later demand asks for nothing that there is.
      late.demand(.max(1))
      idle.cancel()
      idle.demand(.unlimited)
      #expect(late.events == ["200 /late", "finished"] && idle.events.isEmpty)
      #expect(server.requests.map(\.target) == ["/late"])
      #expect(await session.allTasks.isEmpty)
    }
  }

  @Test(.overHTTP1To3) func demandsThatAddUpMakeOneTask() async throws {
    try await withServer({ .ok($0.target) }) { server, session in
      let recorder = SubscriberRecorder()
      session.dataTaskPublisher(for: server.url("/one")).subscribe(recorder)
      for _ in 0..<3 { recorder.demand(.max(1)) }
      await recorder.end()
      #expect(recorder.events == ["200 /one", "finished"])
      #expect(server.requests.count == 1)
    }
  }

  @Test(.overHTTP1To3) func eachSubscriberHasATaskOfItsOwn() async throws {
    try await withServer({ _ in .ok("x") }) { server, session in
      let publisher = session.dataTaskPublisher(for: server.url())
      let recorders = (0..<3).map { _ in SubscriberRecorder() }
      for recorder in recorders {
        publisher.subscribe(recorder)
        recorder.demand(.max(1))
      }
      for recorder in recorders {
        await recorder.end()
        #expect(recorder.events == ["200 x", "finished"])
      }
      #expect(server.requests.count == 3)
    }
  }

  @Test(.overHTTP1To3) func cancellingCancelsTheTaskAndNothingIsTold() async throws {
    try await withServer({ _ in .never }) { server, session in
      let recorder = SubscriberRecorder()
      session.dataTaskPublisher(for: server.url()).subscribe(recorder)
      recorder.demand(.max(1))
      _ = try await server.nextRequest()
      let tasks = await session.allTasks
      #expect(tasks.count == 1)
      recorder.cancel()
      try await eventually("the task to end") { tasks.allSatisfy { $0.state == .completed } }
      #expect((tasks.first?.error as? URLError)?.code == .cancelled)
      // What the session's queue was to tell, it has told by now.
      await withCheckedContinuation { continuation in session.delegateQueue.addOperation { continuation.resume() } }
      #expect(recorder.events.isEmpty)
    }
  }

  @Test(.overHTTP1To3) func aSubscriberThatCancelsWithItsValueIsNotToldOfTheEnd() async throws {
    try await withServer({ _ in .ok("x") }) { server, session in
      let recorder = SubscriberRecorder(cancelsWithValue: true)
      session.dataTaskPublisher(for: server.url()).subscribe(recorder)
      recorder.demand(.max(1))
      try await eventually("the value") { !recorder.events.isEmpty }
      await withCheckedContinuation { continuation in session.delegateQueue.addOperation { continuation.resume() } }
      #expect(recorder.events == ["200 x"])
    }
  }

  @Test(.overHTTP1To3) func aFailedTaskFails() async throws {
    try await withServer({ _ in .truncated(declared: 100, sent: 10) }) { server, session in
      let recorder = SubscriberRecorder()
      session.dataTaskPublisher(for: server.url()).subscribe(recorder)
      recorder.demand(.max(1))
      await recorder.end()
      #expect(recorder.events == ["failed \(URLError.Code.networkConnectionLost.rawValue)"])
    }
  }

  /// A custom protocol may fail with an error that is no `URLError`.
  @Test func everyFailureIsAURLError() async throws {
    struct Own: Error {}
    final class Failing: URLProtocol {
      override class func canInit(with request: URLRequest) -> Bool { true }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func startLoading() { client?.urlProtocol(self, didFailWithError: Own()) }
      override func stopLoading() {}
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Failing.self]
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }
    let recorder = SubscriberRecorder()
    session.dataTaskPublisher(for: try #require(URL(string: "own://host/"))).subscribe(recorder)
    recorder.demand(.max(1))
    await recorder.end()
    #expect(recorder.events == ["failed \(URLError.Code.unknown.rawValue)"])
  }

  /// As in the pipelines of apps: operators in between, and a subscription that ends when it is released.
  @Test(.overHTTP1To3) func operatorsWork() async throws {
    try await withServer({ $0.target == "/never" ? .never : .ok(#"{"name":"one"}"#) }) { server, session in
      let names = AsyncStream<String>.makeStream()
      let loading = session.dataTaskPublisher(for: server.url())
        .map(\.data)
        .tryMap { try JSONDecoder().decode([String: String].self, from: $0)["name"] ?? "" }
        .sink(receiveCompletion: { _ in names.continuation.finish() }, receiveValue: { names.continuation.yield($0) })
      #expect(await names.stream.reduce(into: []) { $0.append($1) } == ["one"])
      loading.cancel()
      var kept: AnyCancellable? = session.dataTaskPublisher(for: server.url("/never"))
        .sink(receiveCompletion: { _ in }, receiveValue: { _ in })
      try await eventually("the request") { server.requests.contains { $0.target == "/never" } }
      let tasks = await session.allTasks
      #expect(kept != nil && tasks.count == 1)
      kept = nil
      try await eventually("the task to end") { tasks.allSatisfy { $0.state == .completed } }
    }
  }
}

import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Mocks in the shapes of the libraries that people use on Apple's platforms, in every form of load.
@Suite struct MockingTests {
  private func url(_ path: String = "/") throws -> URL {
    try #require(URL(string: "https://\(UUID().uuidString.lowercased()).test\(path)"))
  }

  private func session(_ type: URLProtocol.Type) -> URLSession {
    let configuration = URLSessionConfiguration.loopback
    configuration.protocolClasses = [type] + (configuration.protocolClasses ?? [])
    return URLSession(configuration: configuration)
  }

  private static let text = Data((0..<500).map { "line \($0)\n" }.joined().utf8)

  // MARK: Stubs with a run loop

  @Test(arguments: MockedCall.allCases, [0, 0.05]) func aStubStreamsItsAnswer(call: MockedCall, time: Double)
    async throws
  {
    let url = try url("/stubbed?x=1")
    RunLoopStub.stub({ $0.url?.host == url.host && $0.url?.path == "/stubbed" }) { _ in
      StubAnswer(status: 201, body: Self.text, requestTime: time, responseTime: time)
    }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    let (body, status) = try await call.load(url, in: session)
    #expect(body == Self.text && status == 201)
  }

  @Test(arguments: MockedCall.allCases) func aStubRedirects(call: MockedCall) async throws {
    let url = try url("/old")
    RunLoopStub.stub({ $0.url?.host == url.host }) { request in
      request.url?.path == "/old"
        ? StubAnswer(status: 302, fields: ["Location": "/new"])
        : StubAnswer(fields: ["X-Path": request.url?.path ?? ""], body: Self.text)
    }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    let (body, status) = try await call.load(url, in: session)
    #expect(body == Self.text && status == 200)
  }

  @Test(arguments: MockedCall.allCases) func aStubFails(call: MockedCall) async throws {
    let url = try url()
    RunLoopStub.stub({ $0.url?.host == url.host }) { _ in StubAnswer(error: URLError(.notConnectedToInternet)) }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    let code = await failure { _ = try await call.load(url, in: session) }
    #expect(code == .notConnectedToInternet)
  }

  /// The stub that was added last is asked first, and requests that no stub is for go to the network.
  @Test func stubsAreTestedInTurn() async throws {
    let url = try url()
    for text in ["first", "second"] {
      RunLoopStub.stub({ $0.url?.host == url.host }) { _ in StubAnswer(body: Data(text.utf8)) }
    }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "second")
    let server = try await LoopbackServer.start { _ in .ok("real") }
    let (real, _) = try await session.data(from: server.url())
    #expect(String(decoding: real, as: UTF8.self) == "real")
    session.invalidateAndCancel()
    await server.shutdown()
  }

  @Test func aStubThatTakesLongTimesOutAndIsStopped() async throws {
    let url = try url()
    RunLoopStub.stub({ $0.url?.host == url.host }) { _ in StubAnswer(body: Self.text, requestTime: 60) }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: url)
    request.timeoutInterval = 0.2
    let short = request
    let code = await failure { _ = try await session.data(for: short) }
    #expect(code == .timedOut)
  }

  // MARK: Tables of answers

  @Test(arguments: MockedCall.allCases, [nil, .milliseconds(20)] as [DispatchTimeInterval?])
  func aMockAnswersTheTaskAndSeesTheBody(call: MockedCall, delay: DispatchTimeInterval?) async throws {
    let url = try url("/api?page=2")
    let bodies = Recorder<Data>()
    let fields = Recorder<String>()
    var answer = TaskMock.Answer(status: 202, body: Self.text, delay: delay)
    answer.onRequest = { request, body in
      bodies.record(body)
      fields.record(request.value(forHTTPHeaderField: "X-Token") ?? "")
    }
    TaskMock.register(call.method, url, answer)
    let configuration = URLSessionConfiguration.loopback
    configuration.protocolClasses = [TaskMock.self]
    configuration.httpAdditionalHeaders = ["X-Token": "secret"]
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }
    let (body, status) = try await call.load(url, in: session)
    #expect(body == Self.text && status == 202)
    #expect(bodies.all == [call.isUpload ? MockedCall.sent : Data()] && fields.all == ["secret"])
  }

  @Test(arguments: MockedCall.allCases) func aMockFails(call: MockedCall) async throws {
    let url = try url()
    TaskMock.register(
      call.method, url, TaskMock.Answer(delay: .milliseconds(1), error: URLError(.secureConnectionFailed)))
    let session = session(TaskMock.self)
    defer { session.invalidateAndCancel() }
    #expect(await failure { _ = try await call.load(url, in: session) } == .secureConnectionFailed)
  }

  @Test func aCancelledTaskCancelsTheDelayedAnswer() async throws {
    let url = try url()
    let asked = Gate()
    var answer = TaskMock.Answer(body: Self.text, delay: .seconds(60))
    answer.onRequest = { _, _ in asked.open() }
    TaskMock.register("GET", url, answer)
    let session = session(TaskMock.self)
    defer { session.invalidateAndCancel() }
    let load = Task { try await session.data(from: url) }
    try await asked.wait(within: patience)
    load.cancel()
    #expect(await failure { _ = try await load.value } == .cancelled)
  }

  // MARK: Registered mocks

  @Test(arguments: MockedCall.allCases) func aRegisteredMockServesTheSharedSession(call: MockedCall) async throws {
    #expect(URLProtocol.registerClass(ChunkedMock.self))
    let url = try url()
    let host = try #require(url.host)
    ChunkedMock.mock(host, .content(Self.text, chunk: 100))
    defer { ChunkedMock.mock(host, nil) }
    let (body, status) = try await call.load(url, in: .shared)
    #expect(body == Self.text && status == 200)
    ChunkedMock.mock(host, .failure(URLError(.cannotFindHost)))
    #expect(await failure { _ = try await call.load(url, in: .shared) } == .cannotFindHost)
  }

  /// The app asks for a part, and gets what the mock gives.
  @Test func aMockAnswersARange() async throws {
    let url = try url("/file")
    let host = try #require(url.host)
    ChunkedMock.mock(host, .content(Self.text, chunk: 64))
    defer { ChunkedMock.mock(host, nil) }
    let session = session(ChunkedMock.self)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: url)
    request.setValue("bytes=1000-", forHTTPHeaderField: "Range")
    let (data, response) = try await session.data(for: request)
    #expect((response as? HTTPURLResponse)?.statusCode == 206 && data == Self.text.dropFirst(1_000))
  }

  /// Many mocks at a time, those with timers beside those without.
  @Test func manyMocksAtATime() async throws {
    let url = try url("/many")
    RunLoopStub.stub({ $0.url?.host == url.host }) { request in
      let number = Int(request.url?.fragment ?? "") ?? 0
      return StubAnswer(body: Data("\(number)".utf8), requestTime: number % 3 == 0 ? 0.02 : 0)
    }
    let session = session(RunLoopStub.self)
    defer { session.invalidateAndCancel() }
    try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for number in 0..<200 {
        let numbered = try #require(URL(string: url.absoluteString + "#\(number)"))
        group.addTask { (number, String(decoding: try await session.data(from: numbered).0, as: UTF8.self)) }
      }
      for try await (number, text) in group { #expect(text == "\(number)") }
    }
  }
}

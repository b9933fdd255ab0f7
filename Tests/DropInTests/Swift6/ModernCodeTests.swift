import Foundation
import FoundationNetworking
import LoopbackServer
import Testing

@Suite struct ModernCodeTests {
  /// Over each version of HTTP, one after the other.
  private func withServer(
    over versions: [WireVersion] = WireVersion.overTCP, _ handler: @escaping LoopbackServer.Handler,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    for version in versions {
      let server = try await LoopbackServer.start(tls: version.tls(), handler: handler)
      let configuration = URLSessionConfiguration.ephemeral
      configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
      let session = URLSession(configuration: configuration)
      try await body(server, session)
      session.invalidateAndCancel()
      await server.shutdown()
    }
  }

  @Test func anActorDecodesAndShares() async throws {
    try await withServer({ request in
      switch request.path {
      case "/item": .ok(#"{"id":1,"name":"one"}"#, type: "application/json")
      case "/missing": .status(404)
      default: .ok(request.target)
      }
    }) { server, session in
      let service = ArticleService(base: server.url(), session: session)
      let item = try await service.send(Endpoint<Item>(path: "item", query: [URLQueryItem(name: "q", value: "a b")]))
      #expect(item == Item(id: 1, name: "one"))
      #expect(server.requests.first?.target == "/item?q=a%20b")
      await #expect(throws: ServiceError.badStatus(404)) {
        try await service.send(Endpoint<Item>(path: "missing", method: "DELETE"))
      }
      async let first = service.shared(server.url("/shared"))
      async let second = service.shared(server.url("/shared"))
      #expect(try await first == second)
      #expect(try await service.all(["a", "bc", "def"]) == ["a": 2, "bc": 3, "def": 4])
      let (data, response) = try await session.data(for: URLRequest(url: server.url("/retry")), retrying: 3)
      #expect(data == Data("/retry".utf8) && response.statusCode == 200)
      #expect(try await session.legacyData(with: server.url("/old")) == Data("/old".utf8))
    }
  }

  @Test func taskDelegatesObserve() async throws {
    try await withServer({ $0.path == "/begin" ? .redirect(to: "/end", status: 308) : .ok("\($0.body.count)") }) {
      server, session in
      let observer = TaskObserver()
      var request = URLRequest(url: server.url("/begin"))
      request.httpMethod = "POST"
      let (data, _) = try await session.upload(for: request, from: Data(count: 1000), delegate: observer)
      #expect(data == Data("1000".utf8))
      #expect(observer.redirects == 1 && observer.hops == 2 && observer.sent == 1000)
    }
  }

  @Test func downloadsAreStreamsOfProgress() async throws {
    let count: Int64 = 4_000_000
    try await withServer({ _ in .pattern(BytePattern(), count: count) }) { server, plain in
      let center = DownloadCenter(folder: FileManager.default.temporaryDirectory)
      let session = URLSession(configuration: plain.configuration, delegate: center, delegateQueue: nil)
      var (last, size) = (0.0, 0)
      for await event in center.download(server.url("/file"), in: session) {
        switch event {
        case .progress(let fraction):
          #expect(fraction >= last)
          last = fraction
        case .finished(let file):
          size = try Data(contentsOf: file).count
          try FileManager.default.removeItem(at: file)
        case .failed(let error): Issue.record(error)
        }
      }
      #expect(last == 1 && size == Int(count))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func mainActorModelsLoad() async throws {
    // The model makes a session of its own, which knows nothing of the tests' certificates.
    try await withServer(over: [.http1], { $0.method == "POST" ? .ok("thanks") : .ok("one\ntwo\n\nthree") }) {
      server, session in
      let log = LogModel()
      try await log.load(server.url(), session: session)
      #expect(await log.lines == ["one", "two", "three"])
      let upload = await UploadModel()
      let ended = Recorder<Bool>()
      await MainActor.run { upload.onEnd = { ended.record($0) } }
      await upload.start(Data(count: 70_000), to: server.url())
      #expect(try await ended.next())
      #expect(await upload.answer == Data("thanks".utf8))
      #expect(await upload.fraction == 1)
    }
  }

  @Test func cancellingReachesTheServer() async throws {
    // Over HTTP/2 the connection stays, and the stream alone ends.
    try await withServer(over: [.http1], { _ in .never }) { server, session in
      let task = Task { try await session.data(from: server.url()) }
      _ = try await server.nextRequest()
      task.cancel()
      let error = await #expect(throws: URLError.self) { try await task.value }
      #expect(error?.code == .cancelled)
      try await server.expectNoOpenConnections()
    }
  }

  @Test func pinningCompiles() {
    let delegate = PinnedSessionDelegate(hosts: ["example.com"])
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    #expect(session.delegate === delegate)
    session.invalidateAndCancel()
  }
}

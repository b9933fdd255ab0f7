import Foundation
import FoundationNetworking
import LoopbackServer
import Testing

@Suite struct OlderCodeTests {
  private func withServer(
    _ handler: @escaping LoopbackServer.Handler, _ body: (LoopbackServer) async throws -> Void
  ) async throws {
    let server = try await LoopbackServer.start(handler: handler)
    try await body(server)
    await server.shutdown()
  }

  /// Runs blocking code away from the tests' threads.
  private func blocking<Value>(_ body: @escaping () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }

  @Test func aCodableClientLoads() async throws {
    try await withServer({ request in
      request.path == "/missing" ? .status(404) : .ok(#"{"id":7,"title":"\#(request.method)"}"#)
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      let client = CodableClient(baseURL: server.url(), loader: session)
      client.token = "secret"
      let results: [Result<Article, Error>?] = await blocking {
        let (got, posted, missing) = (
          Expectation<Result<Article, Error>>(), Expectation<Result<Article, Error>>(),
          Expectation<Result<Article, Error>>()
        )
        client.get("article") { got.fulfill($0) }
        client.post("articles", Article(id: 1, title: "new")) { posted.fulfill($0) }
        client.get("missing") { missing.fulfill($0) }
        return [got.wait(), posted.wait(), missing.wait()]
      }
      let articles = results.map { try? $0?.get() }
      #expect(articles == [Article(id: 7, title: "GET"), Article(id: 7, title: "POST"), nil])
      #expect(throws: ClientError.self) { try results[2]?.get() }
      #expect(server.requests.allSatisfy { $0.value("Authorization") == "Bearer secret" })
      #expect(client.requestCount == 3)
      session.invalidateAndCancel()
    }
  }

  @Test func mocksStandIn() throws {
    let session = MockURLSession()
    session.nextData = Data(#"{"id":1,"title":"mock"}"#.utf8)
    let client = CodableClient(baseURL: try #require(URL(string: "https://example.com")), loader: session)
    var result: Result<Article, Error>?
    client.get("x") { result = $0 }
    #expect(try result?.get() == Article(id: 1, title: "mock"))
    #expect(session.lastRequest?.url?.path == "/x")
    #expect(session.nextTask.resumeCount == 1 && session.nextTask.state == .running)
    session.nextError = URLError(.timedOut)
    let request = client.get("y") { result = $0 }
    #expect(throws: URLError.self) { try result?.get() }
    request.cancel()
    #expect(session.nextTask.cancelCount == 1)
    let upload = MockUploadTask()
    upload.resume()
    #expect(upload.wasResumed)
    #expect(MockDownloadTask().response?.expectedContentLength == 12)
    #expect(session.nextTask.taskIdentifier == 42)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: MockProtectionSpace(host: "h", trust: nil), previousFailureCount: 0, failureResponse: nil)
    #expect(challenge.protectionSpace is MockProtectionSpace && challenge.protectionSpace.serverTrust == nil)
    let url = URL(fileURLWithPath: "/")
    let cache = CountingCache(limit: 1_000_000)
    let marked = MarkedResponse(
      mark: "m", response: URLResponse(url: url, mimeType: nil, expectedContentLength: 1, textEncodingName: nil))
    cache.storeCachedResponse(marked, for: URLRequest(url: URL(string: "http://h/") ?? url))
    #expect(cache.memoryCapacity == 1_000_000 && marked.data == Data("m".utf8))
    let plain: SessionProtocol = session
    #expect(plain.dataTask(with: URL(fileURLWithPath: "/")) === session.nextTask)
    let handlers: HandlerSessionProtocol = session
    session.nextError = nil
    var count = 0
    handlers.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/"))) { _, _, _ in count += 1 }.resume()
    #expect(count == 1)
  }

  private final class Observer: DownloadManagerDelegate {
    var fractions: [Float] = []
    let ended = Expectation<URL?>()
    func manager(_ manager: DownloadManager, didMake progress: Float, for url: URL) { fractions.append(progress) }
    func manager(_ manager: DownloadManager, didFinish url: URL, at location: URL) { ended.fulfill(location) }
    func manager(_ manager: DownloadManager, didFail url: URL, with error: Error) { ended.fulfill(nil) }
  }

  @Test func aDownloadManagerReportsProgress() async throws {
    let count: Int64 = 3_000_000
    try await withServer({ _ in
      .pattern(BytePattern(), count: count, fields: [("Content-Disposition", "attachment; filename=drop-in.bin")])
    }) { server in
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("manager-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let manager = DownloadManager(folder: folder)
      let observer = Observer()
      manager.delegate = observer
      manager.start(server.url("/file"))
      manager.pause(server.url("/file"))
      manager.resume(server.url("/file"))
      let location = await blocking { observer.ended.wait() ?? nil }
      #expect(location?.lastPathComponent == "drop-in.bin")
      #expect(try Data(contentsOf: try #require(location)).count == Int(count))
      #expect(observer.fractions.last == 1 && observer.fractions == observer.fractions.sorted())
      #expect(server.requests.first?.value("X-Build") == "42")
      manager.cancelAll()
    }
  }

  @Test func aFileIsUploadedWithProgress() async throws {
    try await withServer({ .ok("\($0.body.count)") }) { server in
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
      try Data(count: 200_000).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      let uploader = Uploader()
      var fractions: [Double] = []
      let status: Int? = await withCheckedContinuation { continuation in
        uploader.upload(
          file, to: server.url(), progress: { fractions.append($0) },
          completion: { status, _ in continuation.resume(returning: status) })
      }
      #expect(status == 200 && fractions.last == 1)
      let answer: Data? = await withCheckedContinuation { continuation in
        uploader.uploadStream(InputStream(data: Data(count: 500)), to: server.url()) {
          continuation.resume(returning: $0)
        }
      }
      #expect(answer == Data("500".utf8))
      #expect(uploader.metrics.count == 2)
      uploader.finish()
    }
  }

  @Test func aStreamingLoaderOnTheMainQueue() async throws {
    try await withServer({ $0.path == "/bad" ? .status(500, body: "oh") : .ok("hello") }) { server in
      for (path, expected) in [("/good", "hello"), ("/bad", nil)] as [(String, String?)] {
        let loader = StreamingLoader()
        let result: Result<Data, Error> = await withCheckedContinuation { continuation in
          _ = loader.load(server.url(path)) { continuation.resume(returning: $0) }
        }
        #expect((try? result.get()).map { String(decoding: $0, as: UTF8.self) } == expected)
      }
    }
  }

  @Test func aPinningDelegateRefusesRedirects() async throws {
    try await withServer({ _ in .redirect(to: "http://elsewhere.invalid/") }) { server in
      let session = URLSession(
        configuration: .ephemeral, delegate: PinningDelegate(pinnedHost: "127.0.0.1"), delegateQueue: nil)
      let (_, response) = try await session.data(from: server.url())
      #expect((response as? HTTPURLResponse)?.statusCode == 302)
      session.invalidateAndCancel()
    }
  }

  @Test func theBackgroundSingletonCallsItsHandler() async throws {
    let configuration = BackgroundTransfers.configuration()
    #expect(configuration.identifier == BackgroundTransfers.identifier && configuration.sessionSendsLaunchEvents)
    try await withServer({ _ in .ok("x") }) { server in
      let transfers = BackgroundTransfers.shared
      let session = transfers.makeSession(.ephemeral)
      let task = transfers.schedule(URLRequest(url: server.url("/file")), in: session, notBefore: nil)
      try await eventually("the download to end") { task.state == .completed && !transfers.finished.isEmpty }
      #expect(transfers.finished == [server.url("/file")])
      var calls = 0
      transfers.handleEventsForBackgroundURLSession(identifier: BackgroundTransfers.identifier) { calls += 1 }
      transfers.urlSessionDidFinishEvents(forBackgroundURLSession: session)
      transfers.urlSessionDidFinishEvents(forBackgroundURLSession: session)
      #expect(calls == 1)
      session.finishTasksAndInvalidate()
    }
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct AsyncCallTests {
  @Test(.overHTTP1To3) func dataDownloadAndUpload() async throws {
    try await withServer({ request in
      request.body.count > 0 ? .ok("\(request.method) \(request.body.text)") : .ok("got \(request.path)")
    }) { server in
      let session = URLSession(configuration: .loopback)
      let (data, response) = try await session.data(from: server.url("/a"))
      #expect(String(decoding: data, as: UTF8.self) == "got /a")
      #expect((response as? HTTPURLResponse)?.statusCode == 200)

      let (file, _) = try await session.download(from: server.url("/b"))
      #expect(try String(contentsOf: file, encoding: .utf8) == "got /b")
      try FileManager.default.removeItem(at: file)

      var request = URLRequest(url: server.url("/c"))
      request.httpMethod = "PUT"
      let (answer, _) = try await session.upload(for: request, from: Data("bytes".utf8))
      #expect(String(decoding: answer, as: UTF8.self) == "PUT bytes")
      session.finishTasksAndInvalidate()
    }
  }

  @Test func errorsAreURLErrorsWithTheURL() async throws {
    let server = try await LoopbackServer.start { _ in .ok("x") }
    let url = server.url()
    await server.shutdown()
    let session = URLSession(configuration: .loopback)
    let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
    #expect(error?.code == .cannotConnectToHost)
    #expect(error?.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
    session.finishTasksAndInvalidate()
  }

  @Test(.overHTTP1To3, arguments: [0, 1, 14, 15, 1000, 65_536, 1_000_000, 20_000_001] as [Int64])
  func bodiesOfEverySizeAreWhole(_ count: Int64) async throws {
    try await withServer({ request in
      request.path == "/chunked"
        ? .chunked(BytePattern(), count: count, each: 9_999) : .pattern(BytePattern(), count: count)
    }) { server in
      let session = URLSession(configuration: .loopback)
      for path in ["/known", "/chunked"] {
        let (data, _) = try await session.data(from: server.url(path))
        #expect(digest(data) == BytePattern().digest(count: count))
        let (file, _) = try await session.download(from: server.url(path))
        #expect(digest(try Data(contentsOf: file)) == BytePattern().digest(count: count))
        try FileManager.default.removeItem(at: file)
      }
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func manyCallsAtOnce() async throws {
    try await withServer({ .ok($0.path) }) { server in
      let session = URLSession(configuration: .loopback)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            let (data, _) = try await session.data(from: server.url("/\(number)"))
            #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connectionCount <= 6)
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func metricsComeBeforeTheCallReturns() async throws {
    try await withServer({ $0.path == "/end" ? .ok("x") : .redirect(to: "/end") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      _ = try await session.data(from: server.url())
      let metrics = try #require(delegate.metrics.all.first)
      #expect(metrics.redirectCount == 1)
      #expect(metrics.transactionMetrics.map(\.request.url?.path) == ["/", "/end"])
      #expect(metrics.taskInterval.duration > 0)
      session.finishTasksAndInvalidate()
    }
  }
}

func digest(_ data: Data) -> UInt64 {
  var digest = BodyDigest()
  data.withUnsafeBytes { digest.update($0) }
  return digest.value
}

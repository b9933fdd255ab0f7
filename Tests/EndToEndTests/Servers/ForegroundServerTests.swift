import Foundation
import HTTPTransport
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// An ordinary session against servers that people run.
@Suite(.fewAtATime, .enabled(if: ServerSite.areAllHere, "\(ServerSite.advice)"))
struct ForegroundServerTests {
  private final class Metrics: NSObject, URLSessionTaskDelegate {
    let transactions = Mutex<[URLSessionTaskTransactionMetrics]>([])
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      transactions.withLock { $0 += metrics.transactionMetrics }
    }
  }

  private func run(
    _ test: ServerCase, _ body: (URLSession, _ url: (String) -> URL, Metrics) async throws -> Void
  ) async throws {
    let site = try await ServerSite.start(test.kind)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(try TestCertificates.shared().authorityFile)
    let metrics = Metrics()
    let session = URLSession(configuration: configuration, delegate: metrics, delegateQueue: nil)
    try await body(session, { site.url($0, secure: test.isSecure) }, metrics)
    session.invalidateAndCancel()
    await site.server.stop()
  }

  private func request(_ url: URL, _ change: (inout URLRequest) -> Void) -> URLRequest {
    var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
    change(&request)
    return request
  }

  @Test(arguments: ServerCase.all) func rangesCodingsAndStatuses(test: ServerCase) async throws {
    try await run(test) { session, url, _ in
      // Packed on the way, plain here.
      let (text, response) = try await session.data(from: url("/text.txt"))
      #expect(String(decoding: text, as: UTF8.self) == ServerSite.text)
      let head = try #require(response as? HTTPURLResponse)
      #expect(head.statusCode == 200 && head.value(forHTTPHeaderField: "Content-Encoding") == "gzip")

      let ranged = request(url("/large")) { $0.setValue("bytes=1000-70999", forHTTPHeaderField: "Range") }
      let (part, partResponse) = try await session.data(for: ranged)
      #expect((partResponse as? HTTPURLResponse)?.statusCode == 206)
      #expect(part.count == 70_000 && ServerSite.large.pattern.matches(part, at: 1_000))

      let beyond = request(url("/large")) { $0.setValue("bytes=99999999-", forHTTPHeaderField: "Range") }
      #expect((try await session.data(for: beyond).1 as? HTTPURLResponse)?.statusCode == 416)

      let (none, headResponse) = try await session.data(for: request(url("/large")) { $0.httpMethod = "HEAD" })
      #expect(none.isEmpty && headResponse.expectedContentLength == ServerSite.large.size)

      let (nothing, nothingResponse) = try await session.data(from: url("/nothing"))
      #expect(nothing.isEmpty && (nothingResponse as? HTTPURLResponse)?.statusCode == 204)

      let tag = try #require((headResponse as? HTTPURLResponse)?.value(forHTTPHeaderField: "ETag"))
      let conditional = request(url("/large")) { $0.setValue(tag, forHTTPHeaderField: "If-None-Match") }
      let (unchanged, unchangedResponse) = try await session.data(for: conditional)
      #expect(unchanged.isEmpty && (unchangedResponse as? HTTPURLResponse)?.statusCode == 304)

      #expect((try await session.data(from: url("/missing")).1 as? HTTPURLResponse)?.statusCode == 404)
    }
  }

  @Test(arguments: ServerCase.all) func oneConnectionServesManyRequests(test: ServerCase) async throws {
    try await run(test) { session, url, metrics in
      for _ in 1...20 {
        let (text, _) = try await session.data(from: url("/text.txt"))
        #expect(text.count == ServerSite.text.utf8.count)
      }
      let reused = metrics.transactions.withLock { $0.map(\.isReusedConnection) }
      #expect(reused == [false] + Array(repeating: true, count: 19))
    }
  }

  @Test(arguments: ServerCase.all) func redirectsAndALargeFile(test: ServerCase) async throws {
    try await run(test) { session, url, _ in
      let (text, response) = try await session.data(from: url("/old"))
      #expect(response.url == url("/text.txt") && text.count == ServerSite.text.utf8.count)

      let (file, fileResponse) = try await session.download(from: url("/moved"))
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(fileResponse.url == url("/large"))
      #expect(ServerSite.large.pattern.difference(toFile: file.path, count: ServerSite.large.size) == nil)

      var count: Int64 = 0
      var wrong = 0
      let (bytes, _) = try await session.bytes(
        for: request(url("/large")) {
          $0.setValue("bytes=0-999999", forHTTPHeaderField: "Range")
        })
      let expected = ServerSite.large.pattern.bytes(count: 1_000_000)
      for try await byte in bytes {
        if byte != expected[Int(count)] { wrong += 1 }
        count += 1
      }
      #expect(count == 1_000_000 && wrong == 0)
    }
  }

  /// Neither server has anything there that takes a POST; both answer while or after they read the body.
  @Test(arguments: ServerCase.all) func aMegabyteIsPosted(test: ServerCase) async throws {
    try await run(test) { session, url, _ in
      let body = Data(ServerSite.large.pattern.bytes(count: 1 << 20))
      for _ in 1...3 {
        let post = request(url("/text.txt")) { $0.httpMethod = "POST" }
        let (_, response) = try await session.upload(for: post, from: body)
        let status = (response as? HTTPURLResponse)?.statusCode
        #expect(test.kind == .nginx ? status == 405 : status == 405 || status == 200, "\(status ?? 0)")
      }
      // The connection, or another one, serves what follows.
      #expect(try await session.data(from: url("/text.txt")).0.count == ServerSite.text.utf8.count)
    }
  }

  /// This authority is not in the trust store.
  @Test(arguments: ServerSite.Kind.allCases) func anUnknownAuthorityIsRefused(kind: ServerSite.Kind) async throws {
    let site = try await ServerSite.start(kind)
    let session = URLSession(configuration: .ephemeral)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: site.url("/", secure: true)) }
    #expect([.serverCertificateUntrusted, .serverCertificateHasUnknownRoot].contains(error?.code), "\(error as Any)")
    session.invalidateAndCancel()
    await site.server.stop()
  }
}

import Foundation
import LoopbackServer
import RealServers
import Synchronization
import Testing
import URLLoadingSystem

/// HTTP/2 with a server that people run.
@Suite(.fewAtATime, .enabled(if: InstalledServer.nginx.runsHere, "\(InstalledServer.nginx.advice)"))
struct HTTP2ServerTests {
  private final class Metrics: NSObject, URLSessionTaskDelegate {
    let transactions = Mutex<[URLSessionTaskTransactionMetrics]>([])
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      transactions.withLock { $0 += metrics.transactionMetrics }
    }
  }

  private func withNginx(
    extra: String = "", _ body: (RealServer, URLSession, Metrics) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let server = try await Nginx.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), extra: extra)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(identity.authorityFile)
    let metrics = Metrics()
    let session = URLSession(configuration: configuration, delegate: metrics, delegateQueue: nil)
    do { try await body(server, session, metrics) } catch {
      session.invalidateAndCancel()
      await server.stop()
      throw error
    }
    session.invalidateAndCancel()
    await server.stop()
  }

  private func protocols(_ metrics: Metrics) -> Set<String> {
    metrics.transactions.withLock { Set($0.compactMap(\.networkProtocolName)) }
  }

  /// With its usual 128 streams it would get a second connection where all wait at once.
  @Test func manyAtOnceOnOneConnection() async throws {
    try await withNginx(extra: "http2_max_concurrent_streams 300;") { server, session, metrics in
      try "small".write(toFile: server.documentRoot + "/small", atomically: false, encoding: .utf8)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<300 {
          group.addTask {
            let (data, _) = try await session.data(from: server.secureURL("/small"))
            #expect(String(decoding: data, as: UTF8.self) == "small")
          }
        }
        try await group.waitForAll()
      }
      #expect(protocols(metrics) == ["h2"])
      let ports = metrics.transactions.withLock { Set($0.compactMap(\.localPort)) }
      #expect(ports.count == 1)
    }
  }

  /// nginx says GOAWAY after so many requests, in the middle of those under way: none is lost.
  @Test func aServerThatGoesAwayLosesNothing() async throws {
    try await withNginx(extra: "keepalive_requests 20;") { server, session, metrics in
      try "small".write(toFile: server.documentRoot + "/small", atomically: false, encoding: .utf8)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 { group.addTask { _ = try await session.data(from: server.secureURL("/small")) } }
        try await group.waitForAll()
      }
      #expect(protocols(metrics) == ["h2"])
      let ports = metrics.transactions.withLock { Set($0.compactMap(\.localPort)) }
      #expect(ports.count > 1)
    }
  }

  @Test func aLargeFileArrivesWhole() async throws {
    try await withNginx { server, session, metrics in
      let large = FileResource.Version(size: 64 << 20)
      try large.pattern.write(toFile: server.documentRoot + "/large", count: large.size)
      let (data, _) = try await session.data(from: server.secureURL("/large"))
      #expect(Int64(data.count) == large.size && large.pattern.matches(data))
      let (file, _) = try await session.download(from: server.secureURL("/large"))
      #expect(large.pattern.matches(try Data(contentsOf: file)))
      try? FileManager.default.removeItem(at: file)
      #expect(protocols(metrics) == ["h2"])
    }
  }
}

import Foundation
import HTTPTransport
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// Requests and tunnels as streams of HTTP/2, through a proxy that people run.
@Suite(
  .fewAtATime,
  .enabled(
    if: ServerSite.areAllHere && Nghttpx.installed.runsHere && RealProxy.tinyproxy.installed.runsHere,
    "nghttpx or tinyproxy is missing: Scripts/bootstrap test"))
struct HTTP2ProxyServerTests {
  private func withProxy(
    tunnelsAll: Bool, streams: Int = 100,
    _ body: (ServerSite, URLSession, TransactionLog, _ proxy: RealServer) async throws -> Void
  ) async throws {
    let site = try await ServerSite.start(.nginx)
    let identity = try TestCertificates.shared().localhost
    let backend = try await RealProxy.tinyproxy.start()
    let proxy = try await Nghttpx.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile), inFrontOf: backend,
      streams: streams)
    let port = try #require(proxy.securePort)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(identity.authorityFile)
    ProxyTests.configure(
      configuration, .init(proxy: .tinyproxy, scheme: "https", isConfigured: tunnelsAll), port: port)
    let log = TransactionLog()
    let session = URLSession(configuration: configuration, delegate: log, delegateQueue: nil)
    do { try await body(site, session, log, proxy) } catch { Issue.record(error, "\(proxy.errorLog)") }
    session.invalidateAndCancel()
    await proxy.stop()
    await backend.stop()
    await site.server.stop()
  }

  /// nghttpx answers 502 where tinyproxy closes a connection that nghttpx is about to use again: such a request is repeated.
  private func load(_ url: URL, in session: URLSession) async throws -> Data {
    for _ in 0..<5 {
      let (data, response) = try await session.data(from: url)
      let status = (response as? HTTPURLResponse)?.statusCode
      if status == 502 { continue }
      #expect(status == 200)
      return data
    }
    Issue.record("the proxy answers with 502 alone")
    return Data()
  }

  /// Plain requests are put to the proxy, others go through tunnels; all of them are streams of few connections.
  @Test(arguments: [false, true]) func streamsCarryEverything(tunnelsAll: Bool) async throws {
    try await withProxy(tunnelsAll: tunnelsAll) { site, session, log, proxy in
      let urls = [site.server.url("/text.txt", host: "localhost"), site.server.secureURL("/text.txt")]
      for url in urls {
        #expect(String(decoding: try await load(url, in: session), as: UTF8.self) == ServerSite.text)
      }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for index in 0..<20 { group.addTask { try await load(urls[index % 2], in: session).count } }
        for try await count in group { #expect(count == ServerSite.text.utf8.count) }
      }
      var request = URLRequest(url: site.server.secureURL("/large"))
      request.setValue("bytes=500-3000499", forHTTPHeaderField: "Range")
      let (part, _) = try await session.data(for: request)
      #expect(part.count == 3_000_000 && ServerSite.large.pattern.matches(part, at: 500))
      let port = proxy.securePort
      #expect(log.all.allSatisfy { $0.isProxyConnection && $0.remotePort == port })
      session.invalidateAndCancel()
      // A tunnel is logged when it ends.
      try await eventually("the tunnels to end") { Nghttpx.log(of: proxy).contains { $0.method == "CONNECT" } }
      let entries = Nghttpx.log(of: proxy)
      #expect(entries.allSatisfy { $0.version == "h2" })
      // Each event loop has connections of its own.
      #expect(Set(entries.map(\.port)).count <= LoopExecutor.all.count)
      #expect(entries.contains { $0.method == "GET" } == !tunnelsAll)
    }
  }
}

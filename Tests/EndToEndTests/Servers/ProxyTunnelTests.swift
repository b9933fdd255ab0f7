import Foundation
import LoopbackServer
import RealServers
import Testing
import URLLoadingSystem

/// What HTTP proxies can only pass on: WebSockets and streams, through proxies that people run.
@Suite(.fewAtATime, .enabled(if: RealProxy.allCases.allSatisfy(\.installed.runsHere)))
struct ProxyTunnelTests {
  private func withProxy(
    _ test: ProxyTests.Case, _ body: (URLSession, RealServer, TLSFiles) async throws -> Void
  ) async throws {
    let identity = try TestCertificates.shared().localhost
    let tls = TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
    let proxy = try await test.proxy.start(tls: tls, credential: test.hasCredential ? ProxyTests.credential : nil)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(identity.authorityFile)
    let port = test.scheme == "https" ? try #require(proxy.securePort) : proxy.port
    ProxyTests.configure(configuration, test, port: port)
    let session = URLSession(configuration: configuration)
    do { try await body(session, proxy, tls) } catch {
      Issue.record(error, "\(proxy.errorLog)")
    }
    session.invalidateAndCancel()
    await proxy.stop()
  }

  @Test(
    .enabled(if: PythonWebSockets.runsHere, "\(PythonWebSockets.advice)"), arguments: ProxyTests.Case.all)
  func webSockets(test: ProxyTests.Case) async throws {
    try await withProxy(test) { session, _, tls in
      let server = try await PythonWebSockets.start(tls: tls)
      for url in [server.url("/echo"), server.secureURL("/echo")] {
        let task = session.webSocketTask(with: try #require(URL(string: "ws" + url.absoluteString.dropFirst(4))))
        task.resume()
        for size in [1, 100_000] {
          let message = String(repeating: "x", count: size)
          try await task.send(.string(message))
          guard case .string(let answer) = try await task.receive() else { return }
          #expect(answer == message)
        }
        task.cancel(with: .normalClosure, reason: nil)
      }
      await server.stop()
    }
  }

  /// To a server of HTTP, in words of the app's own; plain, and with TLS that begins behind the proxy.
  @Test(.enabled(if: ServerSite.areAllHere), arguments: ProxyTests.Case.all)
  func streams(test: ProxyTests.Case) async throws {
    try await withProxy(test) { session, _, _ in
      let site = try await ServerSite.start(.nginx)
      for isSecure in [false, true] {
        let url = site.url("/text.txt", secure: isSecure)
        let task = session.streamTask(withHostName: try #require(url.host), port: try #require(url.port))
        task.resume()
        if isSecure { task.startSecureConnection() }
        try await task.write(Data("GET /text.txt HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8), timeout: 30)
        let (answer, _) = try await task.readData(
          ofMinLength: ServerSite.text.utf8.count, maxLength: 1 << 20, timeout: 30)
        let text = String(decoding: answer ?? Data(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains(ServerSite.text.prefix(10_000)))
        task.cancel()
      }
      await site.server.stop()
    }
  }
}

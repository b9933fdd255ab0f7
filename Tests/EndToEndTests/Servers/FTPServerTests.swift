import Foundation
import LoopbackServer
import RealServers
import Synchronization
import Testing
import URLLoadingSystem

/// An ordinary session against vsftpd, directly and through the proxies that people run.
@Suite(.fewAtATime, .enabled(if: Vsftpd.installed.runsHere, "\(Vsftpd.installed.advice)"))
struct FTPServerTests {
  private static let text = "The quick brown fox\n"
  private static let size: Int64 = 32 << 20

  private final class Metrics: NSObject, URLSessionTaskDelegate {
    let transactions = Mutex<[URLSessionTaskTransactionMetrics]>([])
    let challenges = Mutex<[URLAuthenticationChallenge]>([])
    /// The answer to challenges of FTP.
    let credential = Mutex<URLCredential?>(nil)

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      guard !challenge.protectionSpace.isProxy() else { return (.performDefaultHandling, nil) }
      challenges.withLock { $0.append(challenge) }
      return (.useCredential, credential.withLock { $0 })
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      transactions.withLock { $0 += metrics.transactionMetrics }
    }
  }

  private func withVsftpd(
    _ configure: (URLSessionConfiguration) -> Void = { _ in }, password: String? = nil,
    _ body: (RealServer, URLSession, Metrics) async throws -> Void
  ) async throws {
    let server = try await Vsftpd.start(password: password)
    let folder = server.documentRoot + "/pub/with space"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Self.text.write(toFile: folder + "/a.txt", atomically: false, encoding: .utf8)
    try BytePattern().write(toFile: server.documentRoot + "/large", count: Self.size)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configure(configuration)
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

  @Test func filesFoldersAndWhatIsNotThere() async throws {
    try await withVsftpd { server, session, metrics in
      let (data, response) = try await session.data(from: server.ftpURL("/pub/with%20space/a.txt"))
      #expect(String(decoding: data, as: UTF8.self) == Self.text)
      #expect(response.expectedContentLength == 20 && response.mimeType == "text/plain")
      let (listing, _) = try await session.data(from: server.ftpURL("/pub/"))
      // vsftpd knows no MLSD.
      let lines = String(decoding: listing, as: UTF8.self).components(separatedBy: "\r\n")
      #expect(lines.contains { $0.hasPrefix("d") && $0.hasSuffix(" with space") }, "\(lines)")
      #expect(server.accessLog.contains("\"LIST\"") && !server.accessLog.contains("\"MLSD\""))
      let (names, _) = try await session.data(from: server.ftpURL("/pub/with%20space;type=d"))
      #expect(String(decoding: names, as: UTF8.self) == "a.txt\r\n")
      for path in ["/missing", "/pub/missing/", "/pub/missing/a.txt", "/pub"] {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.ftpURL(path)) }
        #expect(error?.code == .fileDoesNotExist, "\(path) \(error as Any)")
      }
      let transactions = metrics.transactions.withLock { $0 }
      #expect(transactions.count == 7 && transactions.allSatisfy { $0.networkProtocolName == "ftp" })
      // One connection for each way to a folder, and the server is told goodbye in the end.
      #expect(transactions.contains { $0.isReusedConnection })
      await session.flush()
      try await eventually("the goodbye") { server.accessLog.contains("\"QUIT\"") }
    }
  }

  @Test func aLargeFileByDownloadTask() async throws {
    try await withVsftpd { server, session, metrics in
      let (file, response) = try await session.download(from: server.ftpURL("/large"))
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(response.expectedContentLength == Self.size && response.suggestedFilename == "large")
      #expect(BytePattern().difference(toFile: file.path, count: Self.size) == nil)
      #expect(metrics.transactions.withLock { $0.map(\.countOfResponseBodyBytesReceived) } == [Self.size])
    }
  }

  @Test func theServerConnectsWhereItIsAskedTo() async throws {
    try await withVsftpd({ $0.connectionProxyDictionary = [kCFNetworkProxiesFTPPassive: 0] }) { server, session, _ in
      let (file, _) = try await session.download(from: server.ftpURL("/large"))
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(BytePattern().difference(toFile: file.path, count: Self.size) == nil)
      // In words, vsftpd advises to use EPSV.
      #expect(server.accessLog.contains("\"EPRT ") && !server.accessLog.contains("\"EPSV\""))
    }
  }

  @Test func aStrangerIsNotLetIn() async throws {
    try await withVsftpd { server, session, _ in
      let url = try #require(URL(string: "ftp://reader:secret@127.0.0.1:\(server.port)/large"))
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == .userAuthenticationRequired, "\(error as Any)")
    }
  }

  @Test func theDelegateIsAskedForThePassword() async throws {
    try await withVsftpd(password: "let me in") { server, session, metrics in
      metrics.credential.withLock { $0 = URLCredential(user: "ftp", password: "let me in", persistence: .forSession) }
      for _ in 0..<2 {
        let (data, _) = try await session.data(from: server.ftpURL("/pub/with%20space/a.txt"))
        #expect(String(decoding: data, as: UTF8.self) == Self.text)
      }
      let challenges = metrics.challenges.withLock { $0 }
      #expect(challenges.map(\.protectionSpace.protocol) == [NSURLProtectionSpaceFTP])
      #expect(challenges.map(\.protectionSpace.port) == [server.port])
      // What opened the space is used without another question.
      #expect(server.accessLog.components(separatedBy: "530 Login incorrect").count == 2)
    }
  }

  @Test func manyAtATimeAndOneGivenUp() async throws {
    try await withVsftpd { server, session, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<12 {
          group.addTask {
            let (data, _) = try await session.data(from: server.ftpURL("/pub/with%20space/a.txt"))
            #expect(data.count == 20)
          }
        }
        try await group.waitForAll()
      }
      let (bytes, _) = try await session.bytes(from: server.ftpURL("/large"))
      var iterator = bytes.makeAsyncIterator()
      _ = try await iterator.next()
    }
  }

  // MARK: Proxies

  private static let proxiesAreHere = RealProxy.allCases.allSatisfy(\.installed.runsHere)

  /// squid, asked for the ftp URL in HTTP, speaks FTP with the server.
  @Test(.enabled(if: proxiesAreHere)) func squidIsAProxyForFTP() async throws {
    let proxy = try await RealProxy.squid.start(credential: ("user", "pass"))
    try await withVsftpd({
      $0.connectionProxyDictionary = [
        kCFNetworkProxiesFTPEnable: 1, kCFNetworkProxiesFTPProxy: "127.0.0.1", kCFNetworkProxiesFTPPort: proxy.port,
        kCFProxyUsernameKey: "user", kCFProxyPasswordKey: "pass",
      ]
    }) { server, session, metrics in
      let (data, response) = try await session.data(from: server.ftpURL("/pub/with%20space/a.txt"))
      #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(response) \(proxy.errorLog)")
      #expect(String(decoding: data, as: UTF8.self) == Self.text)
      let (file, _) = try await session.download(from: server.ftpURL("/large"))
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(BytePattern().difference(toFile: file.path, count: Self.size) == nil)
      let missing = try await session.data(from: server.ftpURL("/missing")).1
      #expect((missing as? HTTPURLResponse)?.statusCode == 404)
      let transactions = metrics.transactions.withLock { $0 }
      #expect(transactions.allSatisfy { $0.isProxyConnection && $0.remotePort == proxy.port })
      #expect(server.accessLog.contains("RETR"))
    }
    await proxy.stop()
  }

  /// Both connections pass through the proxy: SOCKS by its keys, CONNECT by a configuration.
  @Test(.enabled(if: proxiesAreHere), arguments: RealProxy.allCases)
  func throughProxiesThatPassBytesOn(kind: RealProxy) async throws {
    let proxy = try await kind.start()
    try await withVsftpd({
      guard kind == .squid || kind == .tinyproxy else {
        $0.connectionProxyDictionary = [
          kCFNetworkProxiesSOCKSEnable: 1, kCFNetworkProxiesSOCKSProxy: "127.0.0.1",
          kCFNetworkProxiesSOCKSPort: proxy.port,
        ]
        return
      }
      let port = NWEndpoint.Port(rawValue: UInt16(proxy.port)) ?? .any
      $0.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: port))]
    }) { server, session, metrics in
      let (data, response) = try await session.data(from: server.ftpURL("/pub/with%20space/a.txt"))
      #expect(String(decoding: data, as: UTF8.self) == Self.text && !(response is HTTPURLResponse))
      let (file, _) = try await session.download(from: server.ftpURL("/large"))
      defer { try? FileManager.default.removeItem(at: file) }
      #expect(BytePattern().difference(toFile: file.path, count: Self.size) == nil)
      let transactions = metrics.transactions.withLock { $0 }
      #expect(transactions.allSatisfy { $0.isProxyConnection && $0.remotePort == proxy.port })
      #expect(transactions.allSatisfy { $0.networkProtocolName == "ftp" })
    }
    await proxy.stop()
  }
}

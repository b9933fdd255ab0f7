import Foundation
import LoopbackServer
import RealServers
import Synchronization
import Testing
import URLLoadingSystem

/// Through proxies that people run, to a server that people run, plain and over TLS.
@Suite(.fewAtATime) struct ProxyTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let proxy: RealProxy
    /// What is spoken to the proxy, as in `all_proxy`; or how else it is named.
    let scheme: String
    var hasCredential = false
    /// By `proxyConfigurations` instead of the dictionary or the environment.
    var isConfigured = false

    var testDescription: String {
      "\(scheme) through \(proxy.rawValue)\(hasCredential ? " with a name" : "")\(isConfigured ? ", configured" : "")"
    }

    static let all: [Case] = [
      Case(proxy: .squid, scheme: "http"), Case(proxy: .squid, scheme: "http", hasCredential: true),
      Case(proxy: .squid, scheme: "http", isConfigured: true), Case(proxy: .squid, scheme: "https"),
      Case(proxy: .squid, scheme: "https", hasCredential: true, isConfigured: true),
      Case(proxy: .tinyproxy, scheme: "http"), Case(proxy: .tinyproxy, scheme: "http", hasCredential: true),
      // Dante 1.4.2 takes the address that stands for a name in SOCKS 4a for an address, so no request gets through.
      Case(proxy: .dante, scheme: "socks4"),
      Case(proxy: .dante, scheme: "socks5"), Case(proxy: .microsocks, scheme: "socks5"),
      Case(proxy: .microsocks, scheme: "socks5", hasCredential: true),
      Case(proxy: .microsocks, scheme: "socks5", hasCredential: true, isConfigured: true),
      Case(proxy: .ssh, scheme: "socks4"), Case(proxy: .ssh, scheme: "socks4a"), Case(proxy: .ssh, scheme: "socks5"),
      Case(proxy: .ssh, scheme: "socks5", isConfigured: true),
    ]
  }

  static let credential = (user: "me", password: "se-cret")

  private final class Metrics: NSObject, URLSessionTaskDelegate {
    let transactions = Mutex<[URLSessionTaskTransactionMetrics]>([])
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      transactions.withLock { $0 += metrics.transactionMetrics }
    }
  }

  static func configure(_ configuration: URLSessionConfiguration, _ test: Case, port: Int) {
    let (user, password) = credential
    guard test.isConfigured else {
      // The environment never leads to this machine through a proxy; a dictionary does.
      let scheme = "\(test.scheme)://127.0.0.1"
      var dictionary: [AnyHashable: Any] = [:]
      for name in test.scheme.hasPrefix("http") ? ["HTTP", "HTTPS"] : ["SOCKS"] {
        dictionary[name + "Enable"] = 1
        dictionary[name + "Proxy"] = scheme
        dictionary[name + "Port"] = port
      }
      if test.hasCredential {
        dictionary[kCFProxyUsernameKey] = user
        dictionary[kCFProxyPasswordKey] = password
      }
      configuration.connectionProxyDictionary = dictionary
      return
    }
    let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: .init(rawValue: UInt16(port)) ?? .any)
    var proxy =
      test.scheme == "socks5"
      ? ProxyConfiguration(socksv5Proxy: endpoint)
      : ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: test.scheme == "https" ? .init() : nil)
    if test.hasCredential { proxy.applyCredential(username: user, password: password) }
    configuration.proxyConfigurations = [proxy]
  }

  @Test(.enabled(if: ServerSite.areAllHere && RealProxy.allCases.allSatisfy(\.installed.runsHere)), arguments: Case.all)
  func loads(test: Case) async throws {
    let site = try await ServerSite.start(.nginx)
    let identity = try TestCertificates.shared().localhost
    let proxy = try await test.proxy.start(
      tls: TLSFiles(certificateFile: identity.certificateFile, keyFile: identity.keyFile),
      credential: test.hasCredential ? Self.credential : nil)
    let port = test.scheme == "https" ? try #require(proxy.securePort) : proxy.port
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.trustRoots = .file(identity.authorityFile)
    Self.configure(configuration, test, port: port)
    let metrics = Metrics()
    let session = URLSession(configuration: configuration, delegate: metrics, delegateQueue: nil)
    for isSecure in [false, true] {
      // By name: who resolves it differs.
      func url(_ path: String) -> URL {
        isSecure ? site.server.secureURL(path) : site.server.url(path, host: "localhost")
      }
      for _ in 0..<3 {
        let (text, response) = try await session.data(from: url("/text.txt"))
        #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(response) \(proxy.errorLog)")
        #expect(String(decoding: text, as: UTF8.self) == ServerSite.text)
      }
      var request = URLRequest(url: url("/large"))
      request.setValue("bytes=500-3000499", forHTTPHeaderField: "Range")
      let (part, _) = try await session.data(for: request)
      #expect(part.count == 3_000_000 && ServerSite.large.pattern.matches(part, at: 500))
    }
    // A CONNECT that the proxy has asked about got no response of the server.
    let transactions = metrics.transactions.withLock { $0.filter { $0.response != nil } }
    #expect(transactions.allSatisfy { $0.isProxyConnection && $0.remotePort == port })
    // A tunnel keeps what TLS with the server agreed on; one connection serves all plain and one all secure requests.
    #expect(transactions.suffix(4).allSatisfy { $0.negotiatedTLSProtocolVersion == .TLSv13 })
    #expect(transactions.suffix(4).map(\.isReusedConnection) == [false, true, true, true])
    // tinyproxy ends each plain connection, and does not always say so in time: a request may need a second one.
    if test.proxy != .tinyproxy {
      // The request that a proxy has asked about is sent again on the same connection, a CONNECT on a new one.
      let isAsked = test.hasCredential && test.proxy == .squid
      let first = transactions.dropLast(4).suffix(4).map(\.isReusedConnection)
      #expect(first == [isAsked && !test.isConfigured, true, true, true])
    }
    if test.proxy == .ssh {
      // SOCKS 4 itself knows no names; the others leave them to the proxy.
      let host = test.scheme == "socks4" ? "127.0.0.1" : "localhost"
      for port in [site.server.port, try #require(site.server.securePort)] {
        #expect(proxy.errorLog.contains("target \(host) port \(port)"), "\(proxy.errorLog)")
      }
    }
    session.invalidateAndCancel()
    await proxy.stop()
    await site.server.stop()
  }

  @Test(
    .enabled(if: RealProxy.allCases.allSatisfy(\.installed.runsHere)),
    arguments: [RealProxy.squid, .tinyproxy, .microsocks])
  func aStrangerIsRefused(proxy kind: RealProxy) async throws {
    let proxy = try await kind.start(credential: Self.credential)
    let server = try await LoopbackServer.start { _ in .ok("secret") }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    Self.configure(
      configuration, Case(proxy: kind, scheme: kind == .microsocks ? "socks5" : "http", isConfigured: true),
      port: proxy.port)
    let session = URLSession(configuration: configuration)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .userAuthenticationRequired, "\(error as Any)")
    #expect(server.requests.isEmpty)
    session.invalidateAndCancel()
    await proxy.stop()
    await server.shutdown()
  }

  /// The server behind the proxy is not there: whose fault it is, is said.
  /// `ssh` is left out: it says that it connected before it knows.
  @Test(
    .enabled(if: RealProxy.allCases.allSatisfy(\.installed.runsHere)),
    arguments: [RealProxy.squid, .tinyproxy, .dante, .microsocks])
  func nobodyBehindTheProxy(proxy kind: RealProxy) async throws {
    let proxy = try await kind.start()
    let address = try #require(URL(string: "http://127.0.0.1:\(UnservedPort.shared.get().number)/"))
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    let isSOCKS = kind == .microsocks || kind == .dante
    Self.configure(
      configuration, Case(proxy: kind, scheme: isSOCKS ? "socks5" : "http", isConfigured: true), port: proxy.port)
    let session = URLSession(configuration: configuration)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: address) }
    #expect(error?.code == .cannotConnectToHost, "\(error as Any)")
    #expect(error?.localizedDescription.contains("127.0.0.1:\(proxy.port) refused") == true, "\(error as Any)")
    session.invalidateAndCancel()
    await proxy.stop()
  }
}

import Foundation
import HTTPSemantics
import HTTPTransport
import LoopbackServer
import NIOPosix
import Testing

@testable import URLLoadingSystem

/// The event loops on which loads of a host of many connections begin.
@Suite struct LoadPlacementTests {
  private final class Client: LoadClient {}

  /// A transport of four loops, two of them for each host.
  private static func withTransport(_ body: (HTTPTransport) async throws -> Void) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 16
    let transport = HTTPTransport(
      configuration: configuration, executors: group.makeIterator().map { LoopExecutor(loop: $0) })
    try await body(transport)
    transport.shutDown()
    try await group.shutdownGracefully()
  }

  private static func loads(
    _ count: Int, of url: String, _ configuration: LoadConfiguration = LoadConfiguration(),
    over transport: HTTPTransport
  ) -> [LoadContext] {
    (0..<count).map { _ in
      LoadContext(for: URL(string: url), configuration: configuration, transport: transport, client: Client())
    }
  }

  /// How many of the loads begin on the first loop of the host.
  private static func countOnFirstLoop(_ loads: [LoadContext], of host: String, over transport: HTTPTransport) -> Int {
    let first = transport.executor(forHost: host)
    return loads.count { $0.executor === first }
  }

  private static func loopCount(_ loads: [LoadContext]) -> Int {
    Set(loads.map { ObjectIdentifier($0.executor) }).count
  }

  /// The way on which requests of `http://host.test/` go.
  enum Way: CaseIterable {
    case direct, exception, socket
    case socks, tunnel, forward, script
    case secured, securedWithSubdomains, otherSecured

    /// Whether it is certain that they reach the server without a proxy and without TLS.
    var isDirect: Bool {
      switch self {
      case .direct, .exception, .socket, .otherSecured: true
      case .socks, .tunnel, .forward, .script, .secured, .securedWithSubdomains: false
      }
    }

    func configuration() throws -> LoadConfiguration {
      var configuration = LoadConfiguration()
      switch self {
      case .direct: break
      case .exception:
        configuration.proxies = proxies(proxyDictionary(socks: 1080), [kCFNetworkProxiesExceptionsList: ["host.test"]])
      case .socket:
        configuration.unixSocketPath = "/run/server.socket"
        configuration.proxies = proxies(proxyDictionary(socks: 1080))
        configuration.hsts = try known("host.test")
      case .socks: configuration.proxies = proxies(proxyDictionary(socks: 1080))
      case .tunnel:
        configuration.proxies = ProxySelector.make(
          dictionary: nil, configurations: [tunnelling(3128)], environment: [:], desktop: nil)
      case .forward: configuration.proxies = proxies(proxyDictionary(http: 3128))
      case .script:
        let script = #"function FindProxyForURL(url, host) { return "DIRECT"; }"#
        configuration.proxies = proxies(
          [kCFNetworkProxiesProxyAutoConfigEnable: 1, kCFNetworkProxiesProxyAutoConfigJavaScript: script])
      case .secured: configuration.hsts = try known("host.test")
      case .securedWithSubdomains: configuration.hsts = try known("test", "max-age=3600; includeSubDomains")
      case .otherSecured: configuration.hsts = try known("other.test")
      }
      return configuration
    }

    private func proxies(
      _ dictionary: [AnyHashable: Any], _ more: [AnyHashable: Any] = [:]
    ) -> ProxySelector? {
      ProxySelector.make(
        dictionary: dictionary.merging(more) { $1 }, configurations: [], environment: [:], desktop: nil)
    }

    private func known(_ host: String, _ policy: String = "max-age=3600") throws -> HSTSStore {
      let store = HSTSStore()
      store.note(
        try #require(StrictTransportSecurity(parsing: policy)), from: host, at: Int64(Date().timeIntervalSince1970))
      return store
    }
  }

  @Test(arguments: Way.allCases)
  func loadsAreDividedWhereTheWayIsCertain(_ way: Way) async throws {
    let configuration = try way.configuration()
    try await Self.withTransport { transport in
      let loads = Self.loads(8, of: "http://host.test/", configuration, over: transport)
      #expect(Self.loopCount(loads) == (way.isDirect ? 2 : 1))
    }
  }

  @Test(arguments: ["direct.test", "proxied.test"])
  func theLastAnswerOfTheDesktopCounts(_ host: String) async throws {
    let desktop = DesktopProxies(asking: { $0.contains("direct.test") ? ["direct://"] : ["socks5://proxy.test:1080"] })
    let proxies = try #require(
      ProxySelector.make(dictionary: nil, configurations: [], environment: [:], desktop: desktop))
    var configuration = LoadConfiguration()
    configuration.proxies = proxies
    try await Self.withTransport { [configuration] transport in
      let early = Self.loads(8, of: "http://\(host)/", configuration, over: transport)
      #expect(Self.loopCount(early) == 1)
      let answers = Recorder<Result<[ProxyRoute], any Error>>()
      early[0].start { load in
        do {
          let destination = ProxyDestination(scheme: "http", host: host, port: 80)
          answers.record(.success(try await proxies.routes(to: nil, destination, in: load)))
        } catch { answers.record(.failure(error)) }
        load.control.finish()
      }
      let isDirect = try await answers.next().get() == [.direct]
      #expect(isDirect == (host == "direct.test"))
      let late = Self.loads(8, of: "http://\(host)/", configuration, over: transport)
      #expect(Self.loopCount(late) == (isDirect ? 2 : 1))
    }
  }

  @Test func aLoadThatEndsMakesRoomInItsShare() async throws {
    try await Self.withTransport { transport in
      var loads = Self.loads(8, of: "http://host.test/", over: transport)
      #expect(Self.countOnFirstLoop(loads, of: "host.test", over: transport) == 4)
      loads.removeLast(4)
      loads += Self.loads(4, of: "http://host.test/", over: transport)
      #expect(Self.countOnFirstLoop(loads, of: "host.test", over: transport) == 4)
    }
  }

  /// As after a redirect. The loop of one of the hosts has a share of 127.0.0.1, that of the other has none.
  @Test(arguments: ["ten.test", "two.test"])
  func loadsFromTheLoopOfAnotherHostUseAllConnections(_ other: String) async throws {
    let full = Gate()
    let server = try await LoopbackServer.start { _ in Reply.ok("ok").preceded(by: [.waitFor(full)]) }
    let request = URLRequest(url: server.url())
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    try await Self.withTransport { transport in
      let isFirst = transport.executor(forHost: other) === transport.executor(forHost: "127.0.0.1")
      #expect(isFirst == (other == "ten.test"))
      let ends = Recorder<Result<String, any Error>>()
      for load in Self.loads(20, of: "https://\(other)/", configuration, over: transport) {
        load.start { load in
          do {
            let loaded = try await LoadPipeline.load(LoadRequest(request), in: load)
            var text = ""
            while let bytes = try await loaded.body.next() { text += String(buffer: bytes) }
            ends.record(.success(text))
          } catch { ends.record(.failure(error)) }
          load.control.finish()
        }
      }
      try await eventually("the limit to be reached") { server.connectionCount == 16 }
      full.open()
      for end in try await ends.first(20) { #expect(try end.get() == "ok") }
    }
    #expect(server.connectionCount == 16)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

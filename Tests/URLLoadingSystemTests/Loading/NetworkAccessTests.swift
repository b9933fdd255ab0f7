import Foundation
import LoopbackServer
import Synchronization
import SystemFakes
import SystemServices
import Testing
import URLLoadingSystem

/// Networks that a session or a request does not allow.
@Suite struct NetworkAccessTests {
  private func session(
    on networks: FakeNetworks, _ delegate: (any URLSessionDelegate)? = nil,
    _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.networks = networks
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func finish(_ session: URLSession, _ server: LoopbackServer) async throws {
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let network: NetworkTraits
    var session: @Sendable (URLSessionConfiguration) -> Void = { _ in }
    var request: @Sendable (inout URLRequest) -> Void = { _ in }
    /// nil: it is allowed.
    let reason: URLError.NetworkUnavailableReason?
    let testDescription: String

    init(
      _ description: String, on network: NetworkTraits, _ reason: URLError.NetworkUnavailableReason?,
      session: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in },
      request: @escaping @Sendable (inout URLRequest) -> Void = { _ in }
    ) {
      testDescription = description
      self.network = network
      self.reason = reason
      self.session = session
      self.request = request
    }
  }

  static let mobile: NetworkTraits = [.cellular, .expensive]
  static let all: NetworkTraits = [.cellular, .expensive, .constrained]

  static let cases = [
    Case("nothing is forbidden", on: all, nil),
    Case("a session without mobile networks", on: mobile, .cellular) { $0.allowsCellularAccess = false },
    Case("a session without expensive ones", on: .expensive, .expensive) { $0.allowsExpensiveNetworkAccess = false },
    Case("a mobile network, too, is expensive", on: mobile, .expensive) { $0.allowsExpensiveNetworkAccess = false },
    Case("a session without constrained ones", on: all, .constrained) { $0.allowsConstrainedNetworkAccess = false },
    Case("of several reasons, the one that says most", on: all, .cellular) {
      $0.allowsConstrainedNetworkAccess = false
      $0.allowsExpensiveNetworkAccess = false
      $0.allowsCellularAccess = false
    },
    Case("a network that is nothing of what is forbidden", on: .expensive, nil) {
      $0.allowsCellularAccess = false
      $0.allowsConstrainedNetworkAccess = false
    },
    Case("a request without mobile networks", on: mobile, .cellular, request: { $0.allowsCellularAccess = false }),
    Case("… expensive ones", on: mobile, .expensive, request: { $0.allowsExpensiveNetworkAccess = false }),
    Case("… constrained ones", on: all, .constrained, request: { $0.allowsConstrainedNetworkAccess = false }),
    // What a session forbids no request allows again.
    Case(
      "a request that allows more", on: mobile, .cellular, session: { $0.allowsCellularAccess = false },
      request: { $0.allowsCellularAccess = true }),
    Case(
      "each forbids something else", on: .constrained, .constrained, session: { $0.allowsCellularAccess = false },
      request: { $0.allowsConstrainedNetworkAccess = false }),
    Case("a very narrow network is never recognised", on: mobile, nil) {
      $0.allowsUltraConstrainedNetworkAccess = false
    },
  ]

  @Test(arguments: cases, ["127.0.0.1", "localhost"])
  func sessionAndRequestMustAllowTheNetwork(_ test: Case, _ host: String) async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let session = session(on: FakeNetworks(test.network), nil, test.session)
    var request = URLRequest(url: server.url("/", host: host))
    test.request(&request)
    if let reason = test.reason {
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .notConnectedToInternet && error?.networkUnavailableReason == reason)
      #expect(error?.failingURL == request.url)
      #expect(server.connectionCount == 0)
    } else {
      #expect(try await session.data(for: request).0 == Data("here".utf8))
    }
    try await finish(session, server)
  }

  /// The delegate is told once, however often the network changes without becoming one that is allowed.
  @Test func waitsForANetworkThatIsAllowed() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let networks = FakeNetworks(Self.mobile)
    let delegate = RecordingDelegate()
    let session = session(on: networks, delegate) {
      $0.waitsForConnectivity = true
      $0.allowsCellularAccess = false
    }
    let task = session.dataTask(with: server.url())
    task.resume()
    try await eventually("the load waits") { networks.isObserved }
    let questions = networks.questions
    networks.become([.cellular])
    try await eventually("it has looked, and waits again") { networks.questions > questions && networks.isObserved }
    #expect(task.state == .running && server.connectionCount == 0)
    networks.become([])
    try await delegate.done.wait(within: patience)
    #expect(delegate.summary.filter { $0 == "waiting" }.count == 1)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    try await finish(session, server)
  }

  /// A connection that one request may use is none for another that must not use its network.
  @Test func openConnectionsAreNoWayAround() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let networks = FakeNetworks(.expensive)
    let session = session(on: networks)
    #expect(try await session.data(from: server.url()).0 == Data("here".utf8))
    var request = URLRequest(url: server.url())
    request.allowsExpensiveNetworkAccess = false
    let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
    #expect(error?.networkUnavailableReason == .expensive)
    networks.become([])
    for _ in 0..<2 { _ = try await session.data(for: request) }
    #expect(server.connectionCount == 2)
    try await finish(session, server)
  }

  /// Neither a load that forbids nothing nor its metrics look up the network before somebody wants to know.
  @Test(arguments: [[], .expensive, mobile, all] as [NetworkTraits])
  func metricsSayWhatTheNetworkIs(_ traits: NetworkTraits) async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let networks = FakeNetworks(traits)
    let session = session(on: networks)
    for _ in 0..<2 {
      let metrics = try await MetricsTests.metrics(URLRequest(url: server.url()), in: session)
      let transaction = try #require(metrics.transactionMetrics.first)
      #expect(networks.questions == (transaction.isReusedConnection ? 1 : 0))
      #expect(transaction.isCellular == traits.contains(.cellular))
      #expect(transaction.isExpensive == traits.contains(.expensive))
      #expect(transaction.isConstrained == traits.contains(.constrained))
      #expect(networks.questions == 1)
    }
    #expect(server.connectionCount == 1)
    try await finish(session, server)
  }

  @Test func aFailedConnectionHasNoNetwork() async throws {
    let networks = FakeNetworks(Self.mobile)
    let session = session(on: networks) { $0.allowsCellularAccess = false }
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
    let transaction = try #require(try await MetricsTests.metrics(request, in: session).transactionMetrics.first)
    #expect(!transaction.isCellular && !transaction.isExpensive && !transaction.isConstrained)
    #expect(transaction.connectEndDate == nil)
    session.invalidateAndCancel()
  }

  @Test func socketsAndStreamsKeepToIt() async throws {
    let server = try await LoopbackServer.start { _ in .ok("here") }
    let delegate = StreamTaskDelegate()
    let session = session(on: FakeNetworks(.expensive), delegate) { $0.allowsExpensiveNetworkAccess = false }
    let socket = session.webSocketTask(with: server.socketURL("/"))
    socket.resume()
    let refusal = await #expect(throws: URLError.self) { _ = try await socket.receive() }
    #expect(refusal?.networkUnavailableReason == .expensive)
    let stream = session.streamTask(withHostName: "127.0.0.1", port: server.port)
    stream.resume()
    let error = await #expect(throws: URLError.self) { try await stream.write(Data([1]), timeout: 30) }
    #expect(error?.code == .notConnectedToInternet && error?.networkUnavailableReason == .expensive)
    #expect(server.connectionCount == 0)
    try await finish(session, server)
  }
}

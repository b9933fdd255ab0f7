import HTTPSemantics
import LoopbackServer
import NIOPosix
import SystemServices
import Testing

@testable import HTTPTransport

/// A host of many connections has several loops.
@Suite struct HostSharesTests {
  struct Division: Sendable, CustomTestStringConvertible {
    let limit: Int
    let loops: Int
    let shares: Int
    let connections: Int
    var testDescription: String { "\(limit) over \(loops)" }
  }

  /// The default limit is never divided, and the shares together are never more than the limit.
  @Test(arguments: [
    Division(limit: 6, loops: 16, shares: 1, connections: 6),
    Division(limit: 15, loops: 4, shares: 1, connections: 15),
    Division(limit: 16, loops: 4, shares: 2, connections: 8),
    Division(limit: 16, loops: 8, shares: 2, connections: 8),
    Division(limit: 33, loops: 4, shares: 2, connections: 16),
    Division(limit: 100, loops: 8, shares: 4, connections: 25),
    Division(limit: 100, loops: 3, shares: 1, connections: 100),
    Division(limit: 100, loops: 1, shares: 1, connections: 100),
    Division(limit: 0, loops: 4, shares: 1, connections: 1),
  ])
  func aLimitIsDividedWhereEachShareHasEnoughConnections(_ division: Division) {
    let shares = HostShares(limit: division.limit, loops: division.loops)
    #expect(shares.count == division.shares && shares.connections == division.connections)
  }

  @Test func serversOfHTTP11WithoutTLSAreDivided() throws {
    let shares = HostShares(limit: 64, loops: 8)
    var keys = Array(repeating: ConnectionKey(scheme: .http, host: "host", port: 80), count: 5)
    keys[1].allowsHTTP2 = false
    keys[2].scheme = .https
    keys[3].proxy = ProxyHop(try #require(ProxyServer(url: "http://proxy:3128")), use: .forward)
    keys[4].quic = QUICEndpoint(host: "host", port: 80)
    #expect(keys.map { shares.divide($0) } == [true, true, false, false, false])
  }

  /// Loads that come one after the other get the first share, where a connection is open.
  @Test(arguments: [
    ([0, 0], 0), ([3, 0], 0), ([4, 0], 1), ([4, 3], 1), ([4, 4], 0), ([7, 4], 0), ([8, 7, 4], 1), ([8, 8, 3], 2),
  ])
  func aLoadGetsTheFirstShareOfThoseWithTheFewestLoads(_ loads: [Int], _ index: Int) {
    #expect(HostShares.place(among: loads) == index)
  }

  @Test func aShareHasItsPartOfTheLimit() {
    let machine = HTTPConnectionPool.StateMachine(maximumPerHost: 33, shares: HostShares(limit: 33, loops: 4))
    let plain = ConnectionKey(scheme: .http, host: "host", port: 80)
    let secure = ConnectionKey(scheme: .https, host: "host", port: 443)
    let limits = [machine.limit(of: plain), machine.limit(of: secure)]
    #expect(limits == [16, 33])
  }

  /// Other servers of the same loops, one of them on another port of the same host.
  @Test func theLoadsOfOneServerLeaveAnotherItsFirstShare() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 16
    let transport = HTTPTransport(
      configuration: configuration, executors: group.makeIterator().map { LoopExecutor(loop: $0) })
    let busy = ConnectionKey(scheme: .http, host: "two.test", port: 80)
    var begun: [HostLoads.Counter] = []
    func begin(_ count: Int) throws {
      for _ in 0..<count {
        let share = try #require(transport.share(forLoadOf: busy))
        share.loads.loadBegan()
        begun.append(share.loads)
      }
    }
    func getsFirstShare(_ host: String, port: Int = 80) throws -> Bool {
      let share = try #require(transport.share(forLoadOf: ConnectionKey(scheme: .http, host: host, port: port)))
      return share.executor === transport.executor(forHost: host)
    }
    let (first, next) = (transport.executor(forHost: busy.host), transport.executor(forHost: "ten.test"))
    try #require(transport.executor(forHost: "four.test") === first && next !== first)
    try begin(HostShares.step)
    #expect(transport.share(forLoadOf: busy)?.executor === next)
    #expect(try getsFirstShare("four.test") && getsFirstShare(busy.host, port: 8080))
    try begin(HostShares.step)
    #expect(try getsFirstShare(busy.host) && getsFirstShare("ten.test"))
    try begin(1)
    for loads in begun[..<(2 * HostShares.step)] { loads.loadEnded() }
    #expect(try getsFirstShare(busy.host))
    try begin(HostShares.step - 1)
    #expect(transport.share(forLoadOf: busy)?.executor === next)
    transport.shutDown()
    try await group.shutdownGracefully()
  }

  /// Begins so many loads of a server that answers none of them before the limit of 16 connections is reached, and expects that each of
  /// two of four loops has half of these.
  ///
  /// - Parameter loop: gives the number of a load's loop, counted from the first one with a share.
  private func expectHalves(ofLoads count: Int, arePlaced: Bool, on loop: (Int) -> Int) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)
    let executors = group.makeIterator().map { LoopExecutor(loop: $0) }
    let full = Gate()
    let server = try await LoopbackServer.start { _ in Reply.ok("ok").preceded(by: [.waitFor(full)]) }
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 16
    let transport = HTTPTransport(configuration: configuration, executors: executors)
    let key = ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
    let first = try #require(executors.firstIndex { $0 === transport.executor(forHost: key.host) })
    try await withThrowingTaskGroup(of: String.self) { tasks in
      for load in 0..<count {
        let executor = executors[(first + loop(load)) % 4]
        let on = TransportOnLoop(transport: transport, executor: executor, isPlaced: arePlaced)
        tasks.addTask(executorPreference: executor) { try await on.load(key).body }
      }
      try await eventually("the limit to be reached") { server.connectionCount == 16 }
      let counts = await transport.connectionCounts()
      #expect(counts[first] == 8 && counts[(first + 1) % 4] == 8)
      full.open()
      for try await body in tasks { #expect(body == "ok") }
    }
    #expect(server.connectionCount == 16)
    transport.shutDown()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    try await group.shutdownGracefully()
  }

  /// On each of two loops many loads wait for the connections of its share.
  @Test func loadsUseTheConnectionsOfTheirLoop() async throws {
    try await expectHalves(ofLoads: 40, arePlaced: true) { $0 % 2 }
  }

  /// A redirect leads from the loop of another host, which may have a share of the next one.
  @Test(arguments: [0, 2])
  func loadsThatWereNotPlacedUseTheConnectionsOfAllShares(_ loop: Int) async throws {
    try await expectHalves(ofLoads: 20, arePlaced: false) { _ in loop }
  }
}

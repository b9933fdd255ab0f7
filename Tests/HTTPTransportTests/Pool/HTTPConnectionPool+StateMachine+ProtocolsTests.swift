import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPTransport

/// The pool's decisions about servers that speak HTTP/2, or may.
@Suite struct HTTPConnectionPoolStateMachineProtocolsTests {
  private let key = ConnectionKey(scheme: .https, host: "example.com", port: 443)

  /// A server that speaks HTTP/2, its connection, and as many waiters as asked for.
  private func multiplexed(
    _ waiters: Int, limit: Int
  ) throws -> (DecidedPool, connection: DecidedPool.ConnectionID, waiters: [Int]) {
    var pool = DecidedPool(maximumPerHost: 6)
    let all = pool.wait(waiters, for: key)
    let connection = try pool.connectFirst(streams: limit)
    return (pool, connection, all)
  }

  @Test func oneConnectionIsMadeWhereHTTP2MayBeSpoken() {
    var plain = key
    plain.scheme = .http
    var http1Only = key
    http1Only.allowsHTTP2 = false
    for (key, offersHTTP2, expected) in [(key, true, 1), (plain, true, 6), (http1Only, true, 6), (key, false, 6)] {
      var pool = DecidedPool(maximumPerHost: 6, offersHTTP2: offersHTTP2)
      pool.wait(10, for: key)
      #expect(pool.connecting.count == expected)
    }
  }

  /// A proxy that is asked over TLS may speak HTTP/2 as a server may; through a tunnel the server speaks.
  @Test(arguments: [
    (ProxyServer.Kind.https, ProxyHop.Use.forward, 1), (.http, .forward, 6), (.https, .tunnel, 6),
    (.socks5, .tunnel, 6),
  ])
  func aProxyMaySpeakHTTP2(_ kind: ProxyServer.Kind, _ use: ProxyHop.Use, _ expected: Int) throws {
    var key = ConnectionKey(scheme: .http, host: "proxy.example", port: 3_128)
    key.proxy = ProxyHop(ProxyServer(kind, host: "proxy.example", port: 3_128), use: use)
    var pool = DecidedPool(maximumPerHost: 6)
    pool.wait(10, for: key)
    #expect(pool.connecting.count == expected && !pool.machine.isKnownForHTTP1(key))
    try pool.connectFirst()
    #expect(pool.machine.isKnownForHTTP1(key) == (expected == 1))
  }

  @Test func streamsGoToTheWaitersUpToTheLimit() throws {
    var (pool, connection, waiters) = try multiplexed(10, limit: 4)
    #expect(pool.leasedWaiters == Array(waiters.prefix(4)))
    pool.release(connection)
    #expect(pool.leasedWaiters == Array(waiters.prefix(5)))
    pool.changeCapacity(of: connection, to: 6)
    #expect(pool.leasedWaiters == Array(waiters.prefix(7)))
  }

  // MARK: More connections than one

  /// Made one after the other, as long as requests wait and the limit allows it.
  @Test(arguments: [
    (requests: 4, streams: 4, limit: 6, connections: 1), (5, 4, 6, 2), (10, 4, 6, 3), (10, 4, 2, 2), (10, 4, 1, 1),
    (100, 1, 6, 6), (300, 100, 6, 3),
  ])
  func otherConnectionsAreMadeWhenStreamsRunOut(
    requests: Int, streams: Int, limit: Int, connections: Int
  ) throws {
    var pool = DecidedPool(maximumPerHost: limit)
    let waiters = pool.wait(requests, for: key)
    while !pool.connecting.isEmpty {
      #expect(pool.connecting.count == 1)
      try pool.connectFirst(streams: streams)
    }
    #expect(pool.open.count == connections && pool.closed.isEmpty)
    #expect(pool.leasedWaiters == Array(waiters.prefix(connections * streams)))
    // What was left waits for a stream that ends.
    while pool.leases.count < requests, let id = pool.open.first { pool.release(id) }
    #expect(pool.leasedWaiters == waiters && pool.open.count == connections)
  }

  /// Until the server has said how many streams it takes, the number is a guess.
  @Test func noOtherConnectionIsMadeBeforeTheServerHasSaidHowMuchItTakes() throws {
    for (said, expected) in [(2, 1), (3, 0), (100, 0)] {
      var pool = DecidedPool(maximumPerHost: 6)
      pool.wait(2, for: key)
      let connection = try pool.connectFirst(streams: 2, isTentative: true)
      pool.wait(1, for: key)
      #expect(pool.connecting.isEmpty)
      pool.changeCapacity(of: connection, to: said)
      #expect(pool.connecting.count == expected)
    }
  }

  /// Another connection is taken to have as many streams as the one before it.
  @Test func whatTheServerHasSaidIsBelievedOfItsOtherConnections() throws {
    var (pool, _, waiters) = try multiplexed(6, limit: 2)
    let second = try pool.connectFirst(streams: 100, isTentative: true)
    #expect(pool.leasedWaiters == Array(waiters.prefix(4)) && pool.connecting.isEmpty)
    pool.changeCapacity(of: second, to: 2)
    #expect(pool.connecting.count == 1)
  }

  /// One that takes no request is not followed by another at once, each time that the server ends it: a request is tried.
  @Test func aConnectionToAServerThatTakesNoStreamsServesOne() throws {
    var (pool, first, waiters) = try multiplexed(3, limit: 2)
    pool.changeCapacity(of: first, to: 0)
    try pool.connectFirst(streams: 100, isTentative: true)
    #expect(pool.leasedWaiters == waiters && pool.connecting.isEmpty)
  }

  /// One that is not in use is closed soon where another one has streams too; the last one is kept as long as any.
  @Test func connectionsThatAreNotNeededAnyMoreAreClosedSoon() throws {
    var (pool, first, _) = try multiplexed(3, limit: 2)
    let second = try pool.connectFirst(streams: 2)
    pool.release(second)
    pool.pass(.seconds(4))
    #expect(pool.closed.isEmpty)
    pool.pass(.seconds(1))
    #expect(pool.closed == [second])
    pool.release(first)
    pool.release(first)
    pool.pass(.seconds(30))
    #expect(pool.closed == [second])
    pool.pass(DecidedPool.idle)
    #expect(pool.closed == [second, first] && pool.knownGroups == 0)
  }

  /// Both are not in use: one of them stays.
  @Test func oneOfSeveralUnusedConnectionsStays() throws {
    var (pool, first, _) = try multiplexed(3, limit: 2)
    let second = try pool.connectFirst(streams: 2)
    for id in [first, first, second] { pool.release(id) }
    pool.pass(.seconds(10))
    #expect(pool.closed.count == 1)
    let kept = try #require(pool.open.first)
    #expect(pool.ask(key) == .leased(kept))
  }

  /// The server takes no further connection: what waits, waits for streams of the first.
  @Test func aFurtherConnectionThatFailsTakesNothingAway() throws {
    var (pool, connection, waiters) = try multiplexed(3, limit: 2)
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed.isEmpty && pool.connecting.isEmpty)
    pool.release(connection)
    #expect(pool.leasedWaiters == waiters)
  }

  /// Servers of HTTP/3 give streams as others end.
  @Test func overQUICThereIsOneConnection() throws {
    var key = key
    key.quic = QUICEndpoint(host: "example.com", port: 443)
    var pool = DecidedPool(maximumPerHost: 6)
    pool.wait(10, for: key)
    try pool.connectFirst(streams: 4)
    #expect(pool.connecting.isEmpty && pool.leases.count == 4)
  }

  @Test func aServerThatTakesFewerStreamsGetsNoMoreUntilThereIsRoom() throws {
    var (pool, connection, waiters) = try multiplexed(4, limit: 3)
    pool.changeCapacity(of: connection, to: 1)
    pool.release(connection)
    pool.release(connection)
    #expect(pool.leasedWaiters == Array(waiters.prefix(3)))
    pool.release(connection)
    #expect(pool.leasedWaiters == waiters)
  }

  @Test func aServerOfHTTP1GetsTheOtherConnectionsAtOnceAndIsRemembered() throws {
    var pool = DecidedPool(maximumPerHost: 3)
    let waiters = pool.wait(3, for: key)
    let first = try pool.connectFirst()
    #expect(pool.leasedWaiters == [waiters[0]] && pool.connecting.count == 2)
    let others = [try pool.connectFirst(), try pool.connectFirst()]
    for id in [first] + others { pool.lose(id) }
    #expect(pool.knownGroups == 0 && pool.knownHosts == 0)
    pool.wait(3, for: key)
    #expect(pool.connecting.count == 3)
  }

  @Test func afterAFailureTheOthersTryAtTheSameTime() throws {
    var pool = DecidedPool(maximumPerHost: 3)
    let waiters = pool.wait(5, for: key)
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed == [waiters[0]] && pool.connecting.count == 3)
  }

  @Test func aSecondConnectionOfHTTP2IsClosed() throws {
    var pool = DecidedPool(maximumPerHost: 3)
    pool.wait(5, for: key)
    pool.fail(try #require(pool.connecting.first))
    let second = try pool.connectFirst(streams: 100)
    let third = try pool.connectFirst(streams: 100)
    #expect(pool.closed == [third] && pool.leases.allSatisfy { $0.connection == second })
  }

  @Test func aDrainingConnectionIsReplacedAndClosedAfterItsLastStream() throws {
    var (pool, connection, waiters) = try multiplexed(3, limit: 2)
    pool.drain(connection)
    let next = try pool.connectFirst(streams: 2)
    #expect(pool.leases.last?.connection == next && pool.leasedWaiters == waiters)
    pool.release(connection)
    #expect(pool.closed.isEmpty)
    pool.release(connection)
    #expect(pool.closed == [connection])
    pool.release(connection)
    #expect(pool.closed == [connection])
  }

  @Test func aLostConnectionIsReplaced() throws {
    var (pool, connection, _) = try multiplexed(3, limit: 2)
    pool.lose(connection)
    #expect(pool.connecting.count == 1)
  }

  @Test func connectionsWithoutStreamsExpire() throws {
    var (pool, connection, _) = try multiplexed(1, limit: 2)
    let used = pool.pass(.hours(1))
    #expect(pool.closed.isEmpty && used == nil)
    pool.release(connection)
    pool.pass(DecidedPool.idle)
    #expect(pool.closed == [connection] && pool.knownGroups == 0)
  }

  @Test func aRetiredConnectionTakesNoStreamAndIsClosedAfterItsLast() throws {
    var (pool, connection, _) = try multiplexed(1, limit: 2)
    pool.retireAll()
    let answer = pool.ask(key)
    #expect(pool.closed.isEmpty && answer != .leased(connection))
    pool.release(connection)
    #expect(pool.closed == [connection])
  }

  /// A request of another origin takes room as any other does.
  @Test func roomOnACertainConnectionIsTaken() throws {
    var (pool, connection, _) = try multiplexed(1, limit: 2)
    let found = [pool.machine.lease(connection), pool.machine.lease(connection)]
    #expect(found == [true, false])
    guard case .waits(let waiter) = pool.ask(key) else { return }
    pool.release(connection)
    #expect(pool.leasedWaiters.last == waiter)
    pool.drain(connection)
    pool.release(connection)
    let isLeased = pool.machine.lease(connection)
    #expect(!isLeased)
  }

  // MARK: Other protocols in streams

  @Test func waitersForAnotherProtocolAreTurnedAwayByAServerOfHTTP1() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    guard case .waits(let upgrade) = pool.ask(key, changesProtocol: true) else { return }
    let plain = pool.wait(1, for: key)
    try pool.connectFirst()
    // It was the first in line, so it was given the connection: what it is, its exchange says.
    #expect(pool.leasedWaiters == [upgrade])
    guard case .waits(let second) = pool.ask(key, changesProtocol: true) else { return }
    pool.retireAll()
    #expect(pool.mayChangeProtocol(key) == false && pool.turnedAway.isEmpty && second > plain[0])
  }

  @Test func waitersForAnotherProtocolAreTurnedAwayWhenTheServerOffersNone() throws {
    var (pool, connection, _) = try multiplexed(1, limit: 1)
    guard case .waits(let upgrade) = pool.ask(key, changesProtocol: true) else { return }
    let plain = pool.wait(1, for: key)
    #expect(pool.mayChangeProtocol(key))
    pool.learnProtocolChange(connection, isOffered: false)
    #expect(pool.turnedAway == [upgrade] && !pool.mayChangeProtocol(key))
    pool.release(connection)
    #expect(pool.leasedWaiters.last == plain[0])
    pool.learnProtocolChange(connection, isOffered: true)
    #expect(pool.mayChangeProtocol(key))
  }
}

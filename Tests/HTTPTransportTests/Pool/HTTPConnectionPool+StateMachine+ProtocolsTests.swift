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

  @Test func streamsGoToTheWaitersUpToTheLimit() throws {
    var (pool, connection, waiters) = try multiplexed(10, limit: 4)
    #expect(pool.leasedWaiters == Array(waiters.prefix(4)))
    pool.release(connection)
    #expect(pool.leasedWaiters == Array(waiters.prefix(5)))
    pool.changeCapacity(of: connection, to: 6)
    #expect(pool.leasedWaiters == Array(waiters.prefix(7)))
    pool.wait(1, for: key)
    #expect(pool.connecting.isEmpty)
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

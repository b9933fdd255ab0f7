import NIOCore
import Testing

@testable import HTTPTransport

/// The limit of connections is one for all groups of a host.
@Suite struct HTTPConnectionPoolStateMachineHostsTests {
  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)

  /// The same host, for packets that are marked.
  private var marked: ConnectionKey {
    var key = self.key
    key.trafficClass = TrafficClass(dscp: 46, priority: 6)
    return key
  }

  /// A pool that allows one connection, which is leased.
  private func leased() throws -> (DecidedPool, connection: DecidedPool.ConnectionID) {
    var pool = DecidedPool(maximumPerHost: 1)
    pool.ask(key)
    let connection = try pool.connectFirst()
    return (pool, connection)
  }

  /// Expects that a connection of `key` is begun in the place of `closed`.
  private func expectReplacement(_ pool: DecidedPool, of closed: DecidedPool.ConnectionID, for key: ConnectionKey) {
    #expect(pool.closed == [closed] && pool.connecting.compactMap { pool.keys[$0] } == [key])
  }

  @Test func theLimitIsSharedByTheGroupsOfAHost() {
    var pool = DecidedPool(maximumPerHost: 2)
    for key in [key, marked, key, marked] { pool.ask(key) }
    #expect(pool.connecting.compactMap { pool.keys[$0] } == [key, marked])
    #expect(pool.isFull(key) && pool.isFull(marked))
  }

  @Test func otherHostsHaveTheirOwnLimit() {
    var pool = DecidedPool(maximumPerHost: 1)
    var others = [key, key, key, key]
    others[0].port = 81
    others[1].host = "other"
    others[2].scheme = .https
    others[3].allowsHTTP2 = false
    for key in [key] + others { pool.ask(key) }
    #expect(pool.connecting.count == 5)
  }

  @Test func anIdleConnectionMakesRoomForASibling() throws {
    var (pool, connection) = try leased()
    pool.release(connection)
    pool.ask(marked)
    expectReplacement(pool, of: connection, for: marked)
    let next = try pool.connectFirst()
    #expect(pool.leases.last?.connection == next)
  }

  @Test func aConnectionThatBecomesFreeMakesRoomForASibling() throws {
    var (pool, connection) = try leased()
    pool.ask(marked)
    #expect(pool.connecting.isEmpty)
    pool.release(connection)
    expectReplacement(pool, of: connection, for: marked)
  }

  @Test(arguments: [true, false]) func theGroupThatWaitsLongerIsServedFirst(_ ownIsFirst: Bool) throws {
    var (pool, connection) = try leased()
    let keys = ownIsFirst ? [key, marked] : [marked, key]
    let waiters = keys.flatMap { pool.wait(1, for: $0) }
    pool.release(connection)
    if ownIsFirst {
      #expect(pool.leases.last?.connection == connection && pool.leasedWaiters.last == waiters[0])
    } else {
      expectReplacement(pool, of: connection, for: marked)
    }
  }

  @Test func aLostConnectionMakesRoomForASibling() throws {
    var (pool, connection) = try leased()
    pool.ask(marked)
    pool.lose(connection)
    #expect(pool.connecting.compactMap { pool.keys[$0] } == [marked])
  }

  @Test func aFailedAttemptMakesRoomForASibling() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    let waiters = pool.wait(1, for: key)
    pool.ask(marked)
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed == waiters && pool.connecting.compactMap { pool.keys[$0] } == [marked])
  }

  @Test(arguments: [false, true]) func aConnectionOfHTTP2MakesRoomWhenItIsUnused(_ isUsed: Bool) throws {
    let key = ConnectionKey(scheme: .https, host: "host", port: 443)
    var marked = key
    marked.trafficClass = TrafficClass(dscp: 46, priority: 6)
    var pool = DecidedPool(maximumPerHost: 1)
    pool.ask(key)
    let connection = try pool.connectFirst(streams: 10)
    if !isUsed { pool.release(connection) }
    pool.ask(marked)
    if isUsed {
      #expect(pool.connecting.isEmpty && pool.closed.isEmpty)
      pool.release(connection)
    }
    expectReplacement(pool, of: connection, for: marked)
  }

  @Test func connectionsAreNotSharedAcrossIdentities() throws {
    var pool = DecidedPool(maximumPerHost: 6)
    let identities: [ConnectionIdentity] = [
      .none, .authenticatedUser("a"), .authenticatedUser("b"),
      .authenticatedUser("a").joined(with: .authenticatedUser("b")),
      .authenticatedUser("b").joined(with: .authenticatedUser("a")),
    ]
    var connections: [ConnectionIdentity: DecidedPool.ConnectionID] = [:]
    for identity in identities {
      var key = self.key
      key.identity = identity
      pool.ask(key)
      let connection = try pool.connectFirst()
      connections[identity] = connection
      pool.release(connection)
    }
    #expect(Set(connections.values).count == identities.count)
    for identity in identities {
      var key = self.key
      key.identity = identity
      let answer1 = pool.ask(key)
      #expect(answer1 == connections[identity].map { .leased($0) })
    }
  }
}

import NIOCore
import Testing

@testable import HTTPTransport

/// Connections that are kept for one conversation, and those that take no further request.
@Suite struct HTTPConnectionPoolStateMachineEndingsTests {
  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)

  private func key(of identity: ConnectionIdentity) -> ConnectionKey {
    var key = self.key
    key.identity = identity
    return key
  }

  /// A pool of one connection, which is reserved and whose request is over.
  private func reserved() throws -> (DecidedPool, connection: DecidedPool.ConnectionID) {
    var pool = DecidedPool(maximumPerHost: 1)
    pool.ask(key)
    let connection = try pool.connectFirst()
    let isReserved = pool.machine.reserve(connection)
    #expect(isReserved)
    pool.release(connection)
    return (pool, connection)
  }

  @Test func aReservedConnectionServesItsConversationAlone() throws {
    var (pool, connection) = try reserved()
    let waiters = pool.wait(1, for: key)
    #expect(pool.leases.count == 1 && pool.connecting.isEmpty)
    let isLeased = pool.machine.leaseReserved(connection)
    let again = pool.machine.leaseReserved(connection)
    #expect(isLeased && !again)
    pool.release(connection)
    #expect(pool.leases.count == 1)
    pool.endReservation(connection)
    #expect(pool.leasedWaiters.last == waiters[0])
  }

  @Test func aReservedConnectionDoesNotExpireAndMakesNoRoom() throws {
    var (pool, connection) = try reserved()
    pool.ask(key(of: .authenticatedUser("other")))
    pool.pass(.hours(1))
    #expect(pool.closed.isEmpty && pool.connecting.isEmpty)
    pool.lose(connection)
    let isLeased = pool.machine.leaseReserved(connection)
    #expect(!isLeased && pool.connecting.count == 1)
  }

  @Test func afterTheConversationTheConnectionServesItsIdentityOnly() throws {
    var (pool, connection) = try reserved()
    let user = ConnectionIdentity.authenticatedUser("user")
    pool.endReservation(connection, as: user)
    let answer2 = pool.machine.lease(key)
    #expect(answer2 == nil)
    let answer1 = pool.ask(key(of: user))
    #expect(answer1 == .leased(connection))
    pool.release(connection)
    // The limit counts it still.
    pool.ask(key)
    #expect(pool.closed == [connection] && pool.connecting.count == 1)
  }

  @Test func aReservationMayEndWhileARequestIsUnderWay() throws {
    var (pool, connection) = try reserved()
    let isLeased = pool.machine.leaseReserved(connection)
    pool.endReservation(connection)
    let whileInUse = pool.machine.lease(key)
    #expect(isLeased && whileInUse == nil)
    pool.release(connection)
    let answer3 = pool.machine.lease(key)
    #expect(answer3 == connection)
  }

  @Test func aConnectionThatServesOthersCanNotBeReserved() throws {
    let key = ConnectionKey(scheme: .https, host: "host", port: 443)
    var pool = DecidedPool(maximumPerHost: 1)
    pool.wait(2, for: key)
    let connection = try pool.connectFirst(streams: 10)
    var isReserved = pool.machine.reserve(connection)
    #expect(!isReserved)
    pool.release(connection)
    isReserved = pool.machine.reserve(connection)
    let beside = pool.machine.lease(key)
    #expect(isReserved && beside == nil)
    pool.drain(connection)
    pool.release(connection)
    pool.endReservation(connection)
    #expect(pool.closed == [connection])
  }

  enum Use: CaseIterable { case draining, reserved }

  /// A connection that is open, and not for those who wait, is none to wait for.
  @Test(arguments: Use.allCases) func aFailedAttemptIsToldWhenNoConnectionServes(_ use: Use) throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.ask(key)
    let connection = try pool.connectFirst()
    let waiters = pool.wait(1, for: key)
    switch use {
    case .draining: pool.drain(connection)
    case .reserved:
      let isReserved = pool.machine.reserve(connection)
      #expect(isReserved)
    }
    let attempt = try #require(pool.connecting.first)
    pool.fail(attempt)
    #expect(pool.failed == waiters && pool.connecting.isEmpty)
  }

  /// What was put off while a connection served is done when that takes no further request.
  @Test func anAttemptThatWasPutOffIsMadeWhenTheLastConnectionDrains() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.ask(key)
    let connection = try pool.connectFirst()
    pool.wait(1, for: key)
    let attempt = try #require(pool.connecting.first)
    pool.fail(attempt)
    #expect(pool.failed.isEmpty && pool.connecting.isEmpty)
    pool.drain(connection)
    #expect(pool.connecting.count == 1)
  }
}

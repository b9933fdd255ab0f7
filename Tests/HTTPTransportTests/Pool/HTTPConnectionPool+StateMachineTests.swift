import NIOCore
import Testing

@testable import HTTPTransport

/// The pool's decisions for connections that serve one request at a time.
@Suite struct HTTPConnectionPoolStateMachineTests {
  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)

  /// A pool whose one connection is leased to its first waiter.
  private func leased() throws -> (DecidedPool, connection: DecidedPool.ConnectionID) {
    var pool = DecidedPool(maximumPerHost: 1)
    pool.ask(key)
    let connection = try pool.connectFirst()
    return (pool, connection)
  }

  @Test func theFirstWaiterGetsTheFirstConnection() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    let waiters = pool.wait(1, for: key)
    try pool.connectFirst()
    #expect(pool.leasedWaiters == waiters)
  }

  @Test func noMoreConnectionsAreBegunThanTheLimitAllows() {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.wait(3, for: key)
    #expect(pool.connecting.count == 2)
  }

  @Test func aReleasedConnectionServesWaitersByPriorityAndThenByArrival() throws {
    var (pool, connection) = try leased()
    let low = pool.wait(1, for: key, priority: 0.25)
    let normal = pool.wait(2, for: key)
    for _ in 0..<3 { pool.release(connection) }
    #expect(pool.leasedWaiters.dropFirst() == (normal + low)[...])
    pool.release(connection)
    let answer1 = pool.ask(key)
    #expect(answer1 == .leased(connection))
  }

  @Test func aWaiterMovesToWhereItsNewPriorityBelongs() throws {
    var (pool, connection) = try leased()
    let waiters = [0.25, 0.5, 0.5, 0.75, 0.5].flatMap { pool.wait(1, for: key, priority: $0) }
    pool.setPriority(of: waiters[4], key, from: 0.5, to: 1)
    pool.setPriority(of: waiters[0], key, from: 0.25, to: 0.5)
    pool.setPriority(of: waiters[3], key, from: 0.75, to: 0)
    pool.setPriority(of: 99, key, from: 0.5, to: 1)
    let left = pool.cancel(waiters[2], key)
    for _ in 0..<4 { pool.release(connection) }
    #expect(left && pool.leasedWaiters.dropFirst() == [waiters[4], waiters[0], waiters[1], waiters[3]])
  }

  @Test func tenThousandWaitersStayInOrderWhileTheyComeMoveAndLeave() throws {
    var (pool, connection) = try leased()
    var waiting: [Int: Float] = [:]
    for number in 0..<10_000 {
      let priority = Float(number * 7919 % 11) / 10
      for waiter in pool.wait(1, for: key, priority: priority) { waiting[waiter] = priority }
    }
    for (number, waiter) in waiting.keys.sorted().enumerated() {
      guard let old = waiting[waiter] else { continue }
      if number % 3 == 0 {
        let new = Float(number % 5) / 4
        pool.setPriority(of: waiter, key, from: old, to: new)
        waiting[waiter] = new
      } else if number % 3 == 1 {
        let wasThere = pool.cancel(waiter, key, priority: old)
        #expect(wasThere)
        waiting[waiter] = nil
      }
    }
    for _ in waiting { pool.release(connection) }
    let expected = waiting.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
    #expect(Array(pool.leasedWaiters.dropFirst()) == expected.map(\.key))
  }

  @Test func theIdleConnectionThatWasUsedLastIsTakenFirst() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.wait(2, for: key)
    let connections = [try pool.connectFirst(), try pool.connectFirst()]
    for id in connections { pool.release(id) }
    let answer2 = pool.ask(key)
    #expect(answer2 == .leased(connections[1]))
    let answer3 = pool.ask(key)
    #expect(answer3 == .leased(connections[0]))
  }

  @Test func aFailedAttemptFailsItsWaiterAndTheNextGetsAnother() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    let waiters = pool.wait(2, for: key)
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed == [waiters[0]] && pool.connecting.count == 1)
    #expect(pool.connecting.first.flatMap { pool.starters[$0] } == waiters[1])
  }

  @Test func aWaiterThatLeftIsNotFailed() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    let waiters = pool.wait(1, for: key)
    let answers = [pool.cancel(waiters[0], key), pool.cancel(waiters[0], key)]
    #expect(answers == [true, false])
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed.isEmpty && pool.connecting.isEmpty && pool.knownGroups == 0)
  }

  @Test func aConnectionWhoseWaiterLeftIsKeptIdle() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    let waiters = pool.wait(1, for: key)
    let left = pool.cancel(waiters[0], key)
    let connection = try pool.connectFirst()
    #expect(left && pool.leases.isEmpty && pool.keptIdle == [connection])
    let answer4 = pool.ask(key)
    #expect(answer4 == .leased(connection))
  }

  @Test func aLostConnectionIsReplacedForItsWaiters() throws {
    var (pool, connection) = try leased()
    pool.wait(1, for: key)
    pool.lose(connection)
    #expect(pool.connecting.count == 1)
  }

  @Test func idleConnectionsAreClosedWhenTheirTimeHasPassed() throws {
    var (pool, connection) = try leased()
    pool.release(connection)
    let next = pool.pass(DecidedPool.idle - .seconds(1))
    #expect(pool.closed.isEmpty && next == pool.now + .seconds(1))
    let after = pool.pass(.seconds(1))
    #expect(pool.closed == [connection] && after == nil)
    let answer5 = pool.ask(key)
    #expect(answer5 != .leased(connection))
  }

  @Test func aConnectionInUseDoesNotExpire() throws {
    var (pool, _) = try leased()
    let next = pool.pass(.hours(1))
    #expect(pool.closed.isEmpty && next == nil)
  }

  @Test func retiredConnectionsAreClosedWhenTheyAreReleased() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.wait(2, for: key)
    let connections = [try pool.connectFirst(), try pool.connectFirst()]
    pool.release(connections[0])
    pool.retireAll()
    #expect(pool.closed == [connections[0]])
    pool.release(connections[1])
    #expect(pool.closed == connections && pool.knownGroups == 0 && pool.knownHosts == 0)
  }

  @Test func shuttingDownFailsAllWaitersAndLaterOnes() throws {
    var (pool, connection) = try leased()
    let waiters = pool.wait(2, for: key)
    pool.shutDown()
    #expect(pool.failed == waiters)
    pool.release(connection)
    let late = pool.wait(1, for: key)
    #expect(pool.failed == waiters + late && pool.connecting.isEmpty)
  }

  @Test func aLeaseThatFailsGivesTheWaiterItsPlaceBack() throws {
    var (pool, connection) = try leased()
    let waiters = pool.wait(2, for: key)
    pool.release(connection)
    pool.leaseFails(key)
    #expect(pool.closed == [connection] && pool.failed.isEmpty)
    try pool.connectFirst()
    #expect(pool.leasedWaiters.last == waiters[0])
  }

  @Test func anIDOfAClosedConnectionNamesNoOther() throws {
    var (pool, connection) = try leased()
    pool.lose(connection)
    pool.ask(key)
    let second = try pool.connectFirst()
    #expect(second != connection && second.index == connection.index)
    pool.release(connection)
    let answer = pool.ask(key)
    #expect(answer != .leased(second))
  }

  // MARK: Failures beside connections that live

  /// One connection in use, and an attempt for a second waiter.
  private func oneLivesOneIsMade() throws -> (DecidedPool, DecidedPool.ConnectionID, DecidedPool.ConnectionID, Int) {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.ask(key)
    let connection = try pool.connectFirst()
    let waiter = pool.wait(1, for: key)[0]
    return (pool, connection, try #require(pool.connecting.first), waiter)
  }

  @Test func afterAFailureTheWaiterWaitsForAConnectionThatLives() throws {
    var (pool, connection, attempt, waiter) = try oneLivesOneIsMade()
    pool.fail(attempt)
    #expect(pool.failed.isEmpty && pool.connecting.isEmpty)
    pool.release(connection)
    #expect(pool.leasedWaiters.last == waiter)
  }

  @Test func afterAPauseTheAttemptIsMadeAgain() throws {
    var (pool, _, attempt, waiter) = try oneLivesOneIsMade()
    pool.fail(attempt)
    pool.wait(3, for: key)
    #expect(pool.connecting.isEmpty)
    pool.pass(HTTPConnectionPool.StateMachine.pauseAfterFailure)
    #expect(pool.connecting.count == 1 && pool.connecting.first.flatMap { pool.starters[$0] } == waiter)
  }

  @Test func whenTheLastConnectionIsGoneAFailureIsTold() throws {
    var (pool, connection, attempt, waiter) = try oneLivesOneIsMade()
    pool.fail(attempt)
    pool.lose(connection)
    pool.fail(try #require(pool.connecting.first))
    #expect(pool.failed == [waiter] && pool.connecting.isEmpty)
  }

  @Test func aRefusalByTheAppIsToldThoughAConnectionLives() throws {
    var (pool, _, attempt, waiter) = try oneLivesOneIsMade()
    pool.fail(attempt, because: TransportError.tlsHandshakeFailed(.untrustedRoot))
    #expect(pool.failed == [waiter])
  }

  @Test func anAttemptThatIsGivenUpFailsNoWaiter() throws {
    var pool = DecidedPool(maximumPerHost: 1)
    let waiters = pool.wait(2, for: key)
    let first = try #require(pool.connecting.first)
    let left = pool.cancel(waiters[0], key)
    pool.giveUp(first)
    #expect(left && pool.failed.isEmpty && pool.connecting.count == 1)
    #expect(pool.connecting.first.flatMap { pool.starters[$0] } == waiters[1])
  }
}

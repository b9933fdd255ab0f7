import NIOCore
import Testing

@testable import HTTPTransport

/// Which connections take a request behind others.
@Suite struct HTTPConnectionPoolStateMachinePipeliningTests {
  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)

  @Test func requestsFollowOthersWhenNoFurtherConnectionMayBeMade() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.ask(key)
    let first = try pool.connectFirst()
    #expect(pool.connectionsToFollow(for: key).isEmpty)
    pool.ask(key)
    let second = try pool.connectFirst()
    #expect(pool.connectionsToFollow(for: key) == [first, second])
  }

  /// The server takes all that comes over the connection of a conversation for this conversation's.
  @Test func requestsFollowNeitherOnAReservedNorOnADrainingConnection() throws {
    var pool = DecidedPool(maximumPerHost: 2)
    pool.wait(2, for: key)
    let first = try pool.connectFirst()
    let second = try pool.connectFirst()
    let isReserved = pool.machine.reserve(first)
    #expect(isReserved && pool.connectionsToFollow(for: key) == [second])
    pool.drain(second)
    #expect(pool.connectionsToFollow(for: key).isEmpty)
    pool.endReservation(first)
    #expect(pool.connectionsToFollow(for: key) == [first])
  }

  /// Else a connection that is followed again and again would never have room for the one that waits.
  @Test(arguments: [ConnectionIdentity.none, .authenticatedUser("user")])
  func noRequestFollowsOthersWhileOneWaits(_ identity: ConnectionIdentity) throws {
    var pool = DecidedPool(maximumPerHost: 1)
    pool.ask(key)
    let connection = try pool.connectFirst()
    var waiting = key
    waiting.identity = identity
    let waiters = pool.wait(1, for: waiting)
    #expect(waiters.count == 1 && pool.connectionsToFollow(for: key).isEmpty)
    let wasWaiting = pool.cancel(waiters[0], waiting)
    #expect(wasWaiting && pool.connectionsToFollow(for: key) == [connection])
  }
}

import NIOCore
import Testing

@testable import HTTPTransport

/// The pool's decisions about servers that speak HTTP/2, or may.
@Suite struct HTTPConnectionPoolMultiplexedTests {
  typealias Machine = HTTPConnectionPool.StateMachine

  private let key = ConnectionKey(scheme: .https, host: "example.com", port: 443)
  private let later = NIODeadline.uptimeNanoseconds(60_000_000_000)

  /// Queues `count` waiters. Returns them and the connections that were begun.
  private func wait(_ count: Int, _ machine: inout Machine, for key: ConnectionKey? = nil) -> ([Int], [Int]) {
    var (waiters, connections): ([Int], [Int]) = ([], [])
    for _ in 0..<count {
      let (waiter, action) = machine.wait(for: key ?? self.key, priority: 0.5)
      waiters.append(waiter)
      if case .connect(let id, _) = action { connections.append(id) }
    }
    return (waiters, connections)
  }

  private func served(_ first: Machine.Action, _ machine: inout Machine) -> [Int] {
    var (served, action): ([Int], Machine.Action) = ([], first)
    while case .lease(_, let waiter) = action {
      served.append(waiter)
      action = machine.serveNext(key)
    }
    return served
  }

  /// A server that speaks HTTP/2, its connection, and as many streams in use as `waiters`.
  private func multiplexed(_ waiters: Int, limit: Int) throws -> (Machine, connection: Int, waiters: [Int]) {
    var machine = Machine(maximumPerHost: 6)
    let (all, connections) = wait(waiters, &machine)
    let connection = try #require(connections.first)
    let action = machine.connectedMultiplexed(connection, key: key, limit: limit, expiry: later)
    _ = served(action, &machine)
    return (machine, connection, all)
  }

  @Test func oneConnectionIsMadeWhereHTTP2MayBeSpoken() {
    var machine = Machine(maximumPerHost: 6)
    #expect(wait(10, &machine).1.count == 1)
    var plain = key
    plain.scheme = .http
    #expect(wait(10, &machine, for: plain).1.count == 6)
    var http1Only = key
    http1Only.allowsHTTP2 = false
    #expect(wait(10, &machine, for: http1Only).1.count == 6)
    var without = Machine(maximumPerHost: 6, offersHTTP2: false)
    #expect(wait(10, &without).1.count == 6)
  }

  @Test func streamsGoToTheWaitersUpToTheLimit() throws {
    var machine = Machine(maximumPerHost: 6)
    let (waiters, connections) = wait(10, &machine)
    let connection = try #require(connections.first)
    let action = machine.connectedMultiplexed(connection, key: key, limit: 4, expiry: later)
    #expect(served(action, &machine) == Array(waiters.prefix(4)))
    #expect(machine.leaseStream(key) == nil)
    // One ends, one begins.
    #expect(machine.streamEnded(connection, key: key, expiry: later) == .lease(connection, waiters[4]))
    // The server takes more.
    machine.streamLimitChanged(connection, key: key, limit: 6)
    #expect(served(machine.serveNext(key), &machine) == Array(waiters[5...6]))
    #expect(wait(1, &machine).1.isEmpty)
  }

  @Test func aServerOfHTTP1GetsTheOtherConnectionsAtOnceAndIsRemembered() throws {
    var machine = Machine(maximumPerHost: 3)
    let (waiters, connections) = wait(5, &machine)
    let first = try #require(connections.first)
    #expect(machine.connected(first, key: key, expiry: later) == .lease(first, waiters[0]))
    var more: [Int] = []
    while case .connect(let id, _) = machine.connectMore(key) { more.append(id) }
    #expect(more.count == 2)
    // Everything is over, and the host forgotten; what it speaks is not.
    _ = machine.removeAllWaiters()
    for id in more { _ = machine.connectFailed(id, key: key) }
    _ = machine.leasedConnectionClosed(key: key)
    #expect(machine.hosts[key] == nil)
    #expect(wait(3, &machine).1.count == 3)
  }

  @Test func afterAFailureTheOthersTryAtTheSameTime() throws {
    var machine = Machine(maximumPerHost: 3)
    let (waiters, connections) = wait(5, &machine)
    let first = try #require(connections.first)
    guard case .fail(waiters[0], .some, _) = machine.connectFailed(first, key: key) else {
      Issue.record("the failure did not reach its waiter, or nobody connects for the next")
      return
    }
    var more = 0
    while case .connect = machine.connectMore(key) { more += 1 }
    #expect(more == 2)
  }

  @Test func aConnectionBesideAnotherIsClosed() throws {
    var machine = Machine(maximumPerHost: 3)
    let (_, connections) = wait(5, &machine)
    let first = try #require(connections.first)
    guard case .fail(_, .some(let second), _) = machine.connectFailed(first, key: key),
      case .connect(let third, _) = machine.connectMore(key)
    else {
      Issue.record("no further connections")
      return
    }
    _ = served(machine.connectedMultiplexed(second, key: key, limit: 100, expiry: later), &machine)
    #expect(
      machine.connectedMultiplexed(third, key: key, limit: 100, expiry: later)
        == .close(third, thenConnect: nil, key))
  }

  @Test func aDrainingConnectionIsReplacedAndClosedByItsLastStream() throws {
    var (machine, connection, waiters) = try multiplexed(3, limit: 2)
    guard case .connect(let next, _) = machine.draining(connection, key: key) else {
      Issue.record("nobody connects for the waiter")
      return
    }
    #expect(machine.leaseStream(key) == nil)
    let action = machine.connectedMultiplexed(next, key: key, limit: 2, expiry: later)
    #expect(action == .lease(next, waiters[2]))
    let first = machine.streamEnded(connection, key: key, expiry: later)
    let last = machine.streamEnded(connection, key: key, expiry: later)
    #expect(first == .nothing && last == .close(connection, thenConnect: nil, key))
    #expect(machine.streamEnded(connection, key: key, expiry: later) == .nothing)
  }

  @Test func aLostConnectionIsReplaced() throws {
    var (machine, connection, _) = try multiplexed(3, limit: 2)
    guard case .connect = machine.multiplexedClosed(connection, key: key) else {
      Issue.record("nobody connects for the waiter")
      return
    }
  }

  @Test func unusedConnectionsExpire() throws {
    var (machine, connection, _) = try multiplexed(1, limit: 2)
    let used = machine.expire(at: later)
    #expect(used.close.isEmpty && used.wake == nil)
    _ = machine.streamEnded(connection, key: key, expiry: later)
    let before = machine.expire(at: later - .seconds(1))
    let after = machine.expire(at: later)
    #expect(before.close.isEmpty && before.wake == later && after.close == [connection])
    #expect(machine.leaseStream(key) == nil && machine.hosts[key] == nil)
  }

  @Test func beingRidOfThem() throws {
    var (machine, connection, _) = try multiplexed(1, limit: 2)
    #expect(machine.removeAllIdle().isEmpty && machine.leaseStream(key) == nil)
    #expect(machine.streamEnded(connection, key: key, expiry: later) == .close(connection, thenConnect: nil, key))
  }
}

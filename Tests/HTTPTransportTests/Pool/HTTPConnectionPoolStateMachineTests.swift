import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct HTTPConnectionPoolStateMachineTests {
  private typealias Machine = HTTPConnectionPool.StateMachine
  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)
  private let later = NIODeadline.now() + .seconds(60)

  /// Connects what `action` asks for and returns what follows.
  private func connect(_ machine: inout Machine, _ action: Machine.Action) throws -> Machine.Action {
    guard case .connect(let id, _) = action else {
      Issue.record("expected a connection to be made, not \(action)")
      return .nothing
    }
    return machine.connected(id, key: key, expiry: later)
  }

  @Test func theFirstWaiterGetsTheFirstConnection() throws {
    var machine = Machine(maximumPerHost: 2)
    let (first, action) = machine.wait(for: key, priority: 0.5)
    guard case .lease(_, first) = try connect(&machine, action) else {
      Issue.record("the connection did not go to its waiter")
      return
    }
  }

  @Test func beyondTheLimitOneWaits() {
    var machine = Machine(maximumPerHost: 2)
    let actions = (0..<3).map { _ in machine.wait(for: key, priority: 0.5).1 == .nothing }
    #expect(actions == [false, false, true])
  }

  @Test func aReleasedConnectionGoesToTheWaiterInFront() throws {
    var machine = Machine(maximumPerHost: 1)
    let (_, action) = machine.wait(for: key, priority: 0.5)
    guard case .lease(let connection, _) = try connect(&machine, action) else { return }
    let (low, _) = machine.wait(for: key, priority: 0.25)
    let (normal, _) = machine.wait(for: key, priority: 0.5)
    let (second, _) = machine.wait(for: key, priority: 0.5)
    var order: [Int] = []
    for _ in 0..<3 {
      if case .lease(_, let waiter) = machine.released(connection, key: key, expiry: later) { order.append(waiter) }
    }
    #expect(order == [normal, second, low])
    let freed = machine.released(connection, key: key, expiry: later)
    let idle = machine.leaseIdle(key)
    #expect(freed == .nothing && idle == connection)
  }

  @Test func aWaiterMovesToWhereItsNewPriorityBelongs() throws {
    var machine = Machine(maximumPerHost: 1)
    let (_, action) = machine.wait(for: key, priority: 0.5)
    guard case .lease(let connection, _) = try connect(&machine, action) else { return }
    let waiters = [0.25, 0.5, 0.5, 0.75, 0.5].map { machine.wait(for: key, priority: $0).0 }
    machine.reprioritize(waiters[4], key: key, from: 0.5, to: 1)
    machine.reprioritize(waiters[0], key: key, from: 0.25, to: 0.5)
    machine.reprioritize(waiters[3], key: key, from: 0.75, to: 0)
    machine.reprioritize(99, key: key, from: 0.5, to: 1)
    let left = machine.cancel(waiters[2], key: key, priority: 0.5)
    var order: [Int] = []
    for _ in 0..<4 {
      if case .lease(_, let waiter) = machine.released(connection, key: key, expiry: later) { order.append(waiter) }
    }
    #expect(left && order == [waiters[4], waiters[0], waiters[1], waiters[3]])
  }

  /// Whatever the order of coming, moving and leaving: the queue is in order.
  @Test func tenThousandWaitersStayInOrder() throws {
    var machine = Machine(maximumPerHost: 1)
    let (_, action) = machine.wait(for: key, priority: 0.5)
    guard case .lease(let connection, _) = try connect(&machine, action) else { return }
    var waiting: [Int: Float] = [:]
    for number in 0..<10_000 {
      let priority = Float(number * 7919 % 11) / 10
      waiting[machine.wait(for: key, priority: priority).0] = priority
    }
    for (number, waiter) in waiting.keys.sorted().enumerated() {
      guard let old = waiting[waiter] else { continue }
      if number % 3 == 0 {
        let new = Float(number % 5) / 4
        machine.reprioritize(waiter, key: key, from: old, to: new)
        waiting[waiter] = new
      } else if number % 3 == 1 {
        let wasThere = machine.cancel(waiter, key: key, priority: old)
        #expect(wasThere)
        waiting[waiter] = nil
      }
    }
    var order: [Int] = []
    while case .lease(_, let waiter) = machine.released(connection, key: key, expiry: later) { order.append(waiter) }
    let expected = waiting.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
    #expect(order == expected.map(\.key))
  }

  @Test func theLastUsedIdleConnectionIsTakenFirst() throws {
    var machine = Machine(maximumPerHost: 2)
    var connections: [Int] = []
    let actions = (0..<2).map { _ in machine.wait(for: key, priority: 0.5).1 }
    for action in actions {
      if case .lease(let id, _) = try connect(&machine, action) { connections.append(id) }
    }
    for id in connections { _ = machine.released(id, key: key, expiry: later) }
    let idle = machine.leaseIdle(key)
    #expect(idle != nil && idle == connections.last)
  }

  @Test func aFailedAttemptFailsItsWaiterAndServesTheNext() {
    var machine = Machine(maximumPerHost: 1)
    let (first, action) = machine.wait(for: key, priority: 0.5)
    _ = machine.wait(for: key, priority: 0.5)
    guard case .connect(let id, _) = action,
      case .fail(first, .some, _) = machine.connectFailed(id, key: key)
    else {
      Issue.record("the failure did not reach its waiter, or nobody connects for the next")
      return
    }
  }

  @Test func aWaiterThatLeftIsNotFailed() {
    var machine = Machine(maximumPerHost: 1)
    let (first, action) = machine.wait(for: key, priority: 0.5)
    let answers = [machine.cancel(first, key: key), machine.cancel(first, key: key)]
    #expect(answers == [true, false])
    guard case .connect(let id, _) = action else { return }
    let afterwards = machine.connectFailed(id, key: key)
    #expect(afterwards == .nothing)
  }

  @Test func aLostConnectionIsReplacedForThoseWhoWait() throws {
    var machine = Machine(maximumPerHost: 1)
    let (_, action) = machine.wait(for: key, priority: 0.5)
    _ = try connect(&machine, action)
    _ = machine.wait(for: key, priority: 0.5)
    guard case .connect = machine.leasedConnectionClosed(key: key) else {
      Issue.record("nobody connects for the waiter")
      return
    }
  }

  @Test func idleConnectionsExpire() throws {
    var machine = Machine(maximumPerHost: 1)
    let (_, action) = machine.wait(for: key, priority: 0.5)
    guard case .lease(let id, _) = try connect(&machine, action) else { return }
    _ = machine.released(id, key: key, expiry: later)
    let before = machine.expire(at: later - .seconds(1))
    let after = machine.expire(at: later)
    let idle = machine.leaseIdle(key)
    #expect(before.close.isEmpty && before.wake == later)
    #expect(after.close == [id])
    #expect(idle == nil)
  }
}

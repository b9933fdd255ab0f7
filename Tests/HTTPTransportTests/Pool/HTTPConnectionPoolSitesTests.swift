import NIOCore
import Testing

@testable import HTTPTransport

/// The limit of connections is one for all keys of a server.
@Suite struct HTTPConnectionPoolSitesTests {
  typealias Machine = HTTPConnectionPool.StateMachine

  private let key = ConnectionKey(scheme: .http, host: "host", port: 80)
  private let later = NIODeadline.uptimeNanoseconds(60_000_000_000)

  /// The same server, for packets that are marked.
  private var marked: ConnectionKey {
    var key = self.key
    key.trafficClass = TrafficClass(dscp: 46, priority: 6)
    return key
  }

  private func begun(_ action: Machine.Action) throws -> Int {
    guard case .connect(let id, _) = action else { throw Unexpected(action: action) }
    return id
  }

  private struct Unexpected: Error { let action: Machine.Action }

  /// A machine that allows one connection, which is leased.
  private func leased() throws -> (Machine, connection: Int) {
    var machine = Machine(maximumPerHost: 1)
    let connection = try begun(machine.wait(for: key, priority: 0.5).1)
    let action = machine.connected(connection, key: key, expiry: later)
    guard case .lease(connection, _) = action else { throw Unexpected(action: action) }
    return (machine, connection)
  }

  /// Expects that `closed` makes room for a connection of `key`. Returns that.
  private func expectReplacement(_ action: Machine.Action, of closed: Int, for key: ConnectionKey) throws -> Int {
    guard case .close(closed, let next?, key) = action else { throw Unexpected(action: action) }
    return next
  }

  @Test func theLimitIsShared() {
    var machine = Machine(maximumPerHost: 2)
    let actions = [key, marked, key, marked].map { machine.wait(for: $0, priority: 0.5).1 == .nothing }
    #expect(actions == [false, false, true, true])
    #expect(machine.isFull(key) && machine.isFull(marked))
  }

  @Test func otherServersHaveTheirOwn() {
    var machine = Machine(maximumPerHost: 1)
    var others = [key, key, key, key]
    others[0].port = 81
    others[1].host = "other"
    others[2].scheme = .https
    others[3].allowsHTTP2 = false
    let actions = ([key] + others).map { machine.wait(for: $0, priority: 0.5).1 == .nothing }
    #expect(actions == [false, false, false, false, false])
  }

  @Test func anIdleConnectionMakesRoom() throws {
    var (machine, connection) = try leased()
    let released = machine.released(connection, key: key, expiry: later)
    #expect(released == .nothing)
    let (_, action) = machine.wait(for: marked, priority: 0.5)
    let next = try expectReplacement(action, of: connection, for: marked)
    let left = machine.leaseIdle(key)
    #expect(left == nil)
    guard case .lease(next, _) = machine.connected(next, key: marked, expiry: later) else {
      Issue.record("the new connection did not go to its waiter")
      return
    }
  }

  @Test func aConnectionThatBecomesFreeMakesRoom() throws {
    var (machine, connection) = try leased()
    let (_, waiting) = machine.wait(for: marked, priority: 0.5)
    #expect(waiting == .nothing)
    _ = try expectReplacement(machine.released(connection, key: key, expiry: later), of: connection, for: marked)
  }

  @Test(arguments: [true, false]) func whoeverWaitsLongerIsServed(_ ownIsFirst: Bool) throws {
    var (machine, connection) = try leased()
    let keys = ownIsFirst ? [key, marked] : [marked, key]
    let waiters = keys.map { machine.wait(for: $0, priority: 0.5).0 }
    let action = machine.released(connection, key: key, expiry: later)
    if ownIsFirst {
      #expect(action == .lease(connection, waiters[0]))
    } else {
      _ = try expectReplacement(action, of: connection, for: marked)
    }
  }

  @Test func aLostConnectionMakesRoom() throws {
    var (machine, _) = try leased()
    _ = machine.wait(for: marked, priority: 0.5)
    guard case .connect(_, marked) = machine.leasedConnectionClosed(key: key) else {
      Issue.record("nobody connects for the sibling's waiter")
      return
    }
  }

  @Test func aFailedAttemptMakesRoom() throws {
    var machine = Machine(maximumPerHost: 1)
    let (first, action) = machine.wait(for: key, priority: 0.5)
    _ = machine.wait(for: marked, priority: 0.5)
    guard case .fail(first, .some, marked) = machine.connectFailed(try begun(action), key: key) else {
      Issue.record("nobody connects for the sibling's waiter")
      return
    }
  }

  /// A connection of HTTP/2 without streams, and one with a stream that ends.
  @Test(arguments: [false, true]) func aConnectionOfHTTP2MakesRoomWhenItIsUnused(_ isUsed: Bool) throws {
    let key = ConnectionKey(scheme: .https, host: "host", port: 443)
    var marked = key
    marked.trafficClass = TrafficClass(dscp: 46, priority: 6)
    var machine = Machine(maximumPerHost: 1)
    let connection = try begun(machine.wait(for: key, priority: 0.5).1)
    _ = machine.connectedMultiplexed(connection, key: key, limit: 10, expiry: later)
    if !isUsed { _ = machine.streamEnded(connection, key: key, expiry: later) }
    var (_, action) = machine.wait(for: marked, priority: 0.5)
    if isUsed {
      #expect(action == .nothing)
      action = machine.streamEnded(connection, key: key, expiry: later)
    }
    _ = try expectReplacement(action, of: connection, for: marked)
  }

  /// Any order of events: what the machine is told of is what it decided.
  @Test(arguments: 1...20) func neverMoreThanAllowedAndNobodyWaitsForEver(seed: UInt64) {
    var model = Model(keys: [key, marked, ConnectionKey(scheme: .http, host: "host", port: 81)], seed: seed)
    for _ in 0..<500 {
      model.step()
      #expect(model.isWithinLimit)
    }
    model.serveAll()
    #expect(model.waiting.isEmpty)
  }
}

/// A pool without sockets that does what the machine decides.
private struct Model {
  private static let limit = 3
  private let keys: [ConnectionKey]
  private var machine = HTTPConnectionPool.StateMachine(maximumPerHost: Model.limit)
  private var random: UInt64
  private var connecting: [Int: ConnectionKey] = [:]
  private var leased: [Int: ConnectionKey] = [:]
  private var idle: [Int: ConnectionKey] = [:]
  private(set) var waiting: [Int: ConnectionKey] = [:]
  private let later = NIODeadline.distantFuture

  init(keys: [ConnectionKey], seed: UInt64) {
    self.keys = keys
    random = seed
  }

  /// Two of the keys are of one server.
  var isWithinLimit: Bool {
    let all = Array(connecting.values) + Array(leased.values) + Array(idle.values)
    let other = all.count { $0 == keys[2] }
    return other <= Model.limit && all.count - other <= Model.limit
  }

  private mutating func next(_ bound: Int) -> Int {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(random >> 33) % bound
  }

  private mutating func any(_ some: [Int: ConnectionKey]) -> (Int, ConnectionKey)? {
    let sorted = some.sorted { $0.key < $1.key }
    guard !sorted.isEmpty else { return nil }
    let one = sorted[next(sorted.count)]
    return (one.key, one.value)
  }

  private mutating func perform(_ action: HTTPConnectionPool.StateMachine.Action, of connection: (Int, ConnectionKey)?)
  {
    // Unless the action says otherwise, the connection is free now.
    if let (id, key) = connection { idle[id] = key }
    switch action {
    case .nothing: break
    case .connect(let id, let key): connecting[id] = key
    case .lease(let id, let waiter):
      leased[id] = idle.removeValue(forKey: id)
      waiting[waiter] = nil
    case .fail(let waiter, let next, let key):
      waiting[waiter] = nil
      if let next { connecting[next] = key }
    case .close(let id, let next, let key):
      idle[id] = nil
      if let next { connecting[next] = key }
    }
  }

  mutating func step() {
    switch next(8) {
    case 0...2:
      let key = keys[next(keys.count)]
      if let id = machine.leaseIdle(key) {
        leased[id] = idle.removeValue(forKey: id)
      } else {
        let (waiter, action) = machine.wait(for: key, priority: Float(next(3)) / 4)
        waiting[waiter] = key
        perform(action, of: nil)
      }
    case 3: connect()
    case 4:
      guard let (id, key) = any(connecting) else { return }
      connecting[id] = nil
      perform(machine.connectFailed(id, key: key), of: nil)
    case 5: release()
    case 6:
      guard let (id, key) = any(leased) else { return }
      leased[id] = nil
      perform(machine.leasedConnectionClosed(key: key), of: nil)
    default:
      guard let (waiter, key) = any(waiting) else { return }
      waiting[waiter] = nil
      _ = machine.cancel(waiter, key: key)
    }
  }

  private mutating func connect() {
    guard let (id, key) = any(connecting) else { return }
    connecting[id] = nil
    perform(machine.connected(id, key: key, expiry: later), of: (id, key))
  }

  private mutating func release() {
    guard let (id, key) = any(leased) else { return }
    leased[id] = nil
    perform(machine.released(id, key: key, expiry: later), of: (id, key))
  }

  /// Everything that is under way ends well.
  mutating func serveAll() {
    for _ in 0..<10_000 where !waiting.isEmpty {
      connect()
      release()
    }
  }
}

import NIOCore
import Testing

@testable import HTTPTransport

/// Random sequences of events: whatever happens, no limit is exceeded, no waiter is lost and no connection leaks.
@Suite struct PoolSequenceTests {
  @Test(arguments: 1...60) func anySequenceOfEventsKeepsTheInvariants(seed: UInt64) {
    var sequence = PoolSequence(seed: seed)
    for step in 0..<600 {
      sequence.step()
      guard let broken = sequence.brokenInvariant else { continue }
      Issue.record("seed \(seed), step \(step): \(broken)")
      return
    }
    sequence.finish()
    #expect(sequence.waiting.isEmpty, "seed \(seed): waiters were lost")
    #expect(sequence.pool.knownConnections == 0 && sequence.pool.open.isEmpty, "seed \(seed): a leak")
    #expect(sequence.pool.knownGroups == 0 && sequence.pool.knownHosts == 0)
  }
}

/// A pool and its connections, driven by random events.
private struct PoolSequence {
  typealias ConnectionID = DecidedPool.ConnectionID

  private static let limit = 3
  private(set) var pool = DecidedPool(maximumPerHost: PoolSequence.limit)
  private let keys: [ConnectionKey]
  private var random: UInt64
  /// Waiters by their keys and priorities.
  private(set) var waiting: [Int: (key: ConnectionKey, priority: Float)] = [:]
  /// How many requests are on each open connection.
  private var inUse: [ConnectionID: Int] = [:]
  private var capacity: [ConnectionID: Int] = [:]
  private var reserved: Set<ConnectionID> = []
  private var seenLeases = 0
  private var seenFailures = 0
  private var overbooked: String?

  init(seed: UInt64) {
    random = seed &* 0x9e37_79b9_7f4a_7c15
    let plain = ConnectionKey(scheme: .http, host: "host", port: 80)
    var marked = plain
    marked.trafficClass = TrafficClass(dscp: 46, priority: 6)
    var user = plain
    user.identity = .authenticatedUser("user")
    let secure = ConnectionKey(scheme: .https, host: "host", port: 443)
    var secureUser = secure
    secureUser.identity = .authenticatedUser("user")
    keys = [plain, marked, user, secure, secureUser, ConnectionKey(scheme: .http, host: "other", port: 80)]
  }

  private mutating func next(_ bound: Int) -> Int {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(random >> 33) % bound
  }

  private mutating func pick<Element>(_ all: [Element]) -> Element? { all.isEmpty ? nil : all[next(all.count)] }

  private mutating func anyOpen(where isWanted: (ConnectionID) -> Bool = { _ in true }) -> ConnectionID? {
    pick(pool.open.filter(isWanted).sorted { $0.index < $1.index })
  }

  /// Takes over what the pool decided.
  private mutating func follow() {
    for lease in pool.leases[seenLeases...] {
      if waiting.removeValue(forKey: lease.waiter) == nil { overbooked = "a lease for a waiter that does not wait" }
      use(lease.connection)
    }
    seenLeases = pool.leases.count
    for waiter in pool.failed[seenFailures...] where waiting.removeValue(forKey: waiter) == nil {
      overbooked = "a failure for a waiter that does not wait"
    }
    seenFailures = pool.failed.count
    for id in inUse.keys where !pool.open.contains(id) { inUse[id] = nil }
    reserved.formIntersection(pool.open)
  }

  private mutating func use(_ id: ConnectionID) {
    guard pool.open.contains(id) else {
      overbooked = "a lease of a connection that is not open"
      return
    }
    inUse[id, default: 0] += 1
    if inUse[id, default: 0] > capacity[id, default: 1] { overbooked = "more requests than the capacity" }
    if reserved.contains(id) { overbooked = "a lease of a reserved connection" }
  }

  var brokenInvariant: String? {
    if let overbooked { return overbooked }
    for id in pool.machine.hosts.ids {
      let groups = pool.machine.hosts[id]?.groups ?? []
      let counted = pool.machine.connections.ids.compactMap { pool.machine.connections[$0] }
        .count { groups.contains($0.group) && $0.counts }
      if counted != pool.machine.hosts[id]?.counted { return "the host counts wrongly" }
      if counted > PoolSequence.limit { return "more connections than allowed" }
    }
    for id in pool.machine.groups.ids {
      guard let group = pool.machine.groups[id] else { continue }
      if group.tentative.contains(where: { pool.machine.connections[$0]?.takesStreamsTentatively != true }) {
        return "a connection that is gone, or none with streams, is taken for one that has not said its limit"
      }
      if group.isEmpty { return "an empty group is kept" }
      if !group.waiters.isEmpty, !group.available.isEmpty { return "a waiter waits beside a connection with room" }
      let open = pool.machine.connections.ids.compactMap { pool.machine.connections[$0] }
        .filter { $0.group == id && $0.phase == .open }
      if open.count != group.open { return "the group counts its connections wrongly" }
      if open.count(where: { $0.isMultiplexed && !$0.isDraining }) != group.multiplexed {
        return "streams are miscounted"
      }
    }
    let queued = pool.machine.groups.ids.reduce(0) { $0 + (pool.machine.groups[$1]?.waiters.count ?? 0) }
    if queued != waiting.count { return "\(waiting.count) wait, \(queued) are queued" }
    if pool.knownConnections != pool.open.count + pool.connecting.count { return "a connection is lost or kept" }
    return nil
  }

  mutating func step() {
    defer { follow() }
    switch next(16) {
    case 0...3: ask()
    case 4, 5: connect()
    case 6:
      guard let id = pick(pool.connecting) else { return }
      pool.fail(id, because: next(2) == 0 ? DecidedPool.refused : TransportError.networkUnreachable)
    case 7...9: release()
    case 10:
      guard let id = anyOpen() else { return }
      pool.lose(id)
    case 11:
      guard let waiter = pick(waiting.keys.sorted()), let (key, priority) = waiting.removeValue(forKey: waiter) else {
        return
      }
      if !pool.cancel(waiter, key, priority: priority) { overbooked = "a waiter was not queued" }
    case 12:
      guard let waiter = pick(waiting.keys.sorted()), let (key, old) = waiting[waiter] else { return }
      let new = Float(next(5)) / 4
      pool.setPriority(of: waiter, key, from: old, to: new)
      waiting[waiter] = (key, new)
    case 13: changeConnection()
    case 14: reserveOrRelease()
    default: pool.pass(.seconds(Int64(next(40))))
    }
  }

  private mutating func ask() {
    guard let key = pick(keys) else { return }
    let priority = Float(next(3)) / 4
    switch pool.ask(key, priority: priority) {
    case .leased(let id): use(id)
    case .waits(let waiter): waiting[waiter] = (key, priority)
    }
  }

  private mutating func connect() {
    guard let id = pick(pool.connecting), let key = pool.keys[id] else { return }
    let streams = key.scheme == .https && next(3) > 0 ? 1 + next(4) : nil
    let isTentative = next(2) == 0
    // Until the server has said its limit, that of the connection before is taken for it.
    let said = pool.machine.connections[id].flatMap { pool.machine.groups[$0.group]?.saidStreams }
    capacity[id] = streams.map { isTentative ? max(1, said ?? $0) : $0 } ?? 1
    pool.connected(id, streams: streams, isTentative: isTentative)
  }

  private mutating func release() {
    let used = inUse
    guard let id = anyOpen(where: { used[$0, default: 0] > 0 }) else { return }
    inUse[id, default: 1] -= 1
    pool.release(id)
  }

  private mutating func changeConnection() {
    guard let id = anyOpen() else { return }
    if pool.machine.connections[id]?.isMultiplexed == true, next(2) == 0 {
      // What has been leased meanwhile goes on.
      capacity[id] = max(1 + next(4), inUse[id, default: 0])
      pool.changeCapacity(of: id, to: capacity[id, default: 1])
    } else {
      pool.drain(id)
    }
  }

  private mutating func reserveOrRelease() {
    if let id = pick(reserved.sorted { $0.index < $1.index }), next(2) == 0 {
      if inUse[id, default: 0] == 0, next(2) == 0 {
        if pool.machine.leaseReserved(id) { inUse[id] = 1 }
      } else {
        reserved.remove(id)
        pool.endReservation(id, as: next(2) == 0 ? .authenticatedUser("user") : nil)
      }
    } else if let id = anyOpen(), pool.machine.reserve(id) {
      reserved.insert(id)
    }
  }

  /// Everything that is under way ends well, and all connections end.
  mutating func finish() {
    for id in reserved { pool.endReservation(id) }
    reserved = []
    follow()
    for _ in 0..<20_000 where !waiting.isEmpty {
      connect()
      follow()
      release()
      follow()
      if next(20) == 0 { pool.pass(HTTPConnectionPool.StateMachine.pauseAfterFailure) }
      follow()
    }
    for id in pool.connecting { pool.fail(id) }
    for (id, count) in inUse { for _ in 0..<count { pool.release(id) } }
    follow()
    pool.retireAll()
    follow()
  }
}

extension HTTPConnectionPool.StateMachine.Connection {
  fileprivate var takesStreamsTentatively: Bool { phase == .open && isMultiplexed && !isDraining }
}

import NIOCore

@testable import HTTPTransport

/// A pool without sockets: keeps what its state machine decides, so that tests can tell what became of connections and
/// waiters. A copy would share the machine: a test has one pool and copies none.
struct DecidedPool {
  typealias Machine = HTTPConnectionPool.StateMachine
  typealias ConnectionID = Machine.ConnectionID

  private let box: Box
  /// Connections being made, in the order of their beginning.
  private(set) var connecting: [ConnectionID] = []
  private(set) var keys: [ConnectionID: ConnectionKey] = [:]
  /// The waiter that each connection was begun for.
  private(set) var starters: [ConnectionID: Int] = [:]
  private(set) var open: Set<ConnectionID> = []
  /// The connections that waiters were given, in order.
  private(set) var leases: [(connection: ConnectionID, waiter: Int)] = []
  private(set) var closed: [ConnectionID] = []
  private(set) var failed: [Int] = []
  private(set) var turnedAway: [Int] = []
  private(set) var keptIdle: [ConnectionID] = []
  var now = NIODeadline.uptimeNanoseconds(1)

  static let idle = TimeAmount.seconds(60)

  init(maximumPerHost: Int, offersHTTP2: Bool = true) {
    box = Box(Machine(maximumPerHost: maximumPerHost, offersHTTP2: offersHTTP2))
  }

  /// Keeps the machine, which can't be copied, for a value that can.
  private final class Box {
    var machine: Machine

    init(_ machine: consuming Machine) { self.machine = machine }
  }

  var machine: Machine {
    _read { yield box.machine }
    _modify { yield &box.machine }
  }

  func mayChangeProtocol(_ key: ConnectionKey) -> Bool { machine.mayChangeProtocol(key) }

  func isFull(_ key: ConnectionKey) -> Bool { machine.isFull(key) }

  func connectionsToFollow(for key: ConnectionKey) -> [ConnectionID] { machine.connectionsToFollow(for: key) }

  /// How many connections, groups and hosts the machine knows.
  var knownConnections: Int { machine.connections.count }
  var knownGroups: Int { machine.groups.count }
  var knownHosts: Int { machine.hosts.count }

  private var expiry: NIODeadline { now + DecidedPool.idle }

  private mutating func perform() {
    while let action = machine.nextAction() {
      switch action {
      case .connect(let id, let key, let starter):
        connecting.append(id)
        keys[id] = key
        starters[id] = starter
      case .lease(let id, let waiter): leases.append((id, waiter))
      case .fail(let waiter, .requiresHTTP1): turnedAway.append(waiter)
      case .fail(let waiter, _): failed.append(waiter)
      case .keepIdle(let id): keptIdle.append(id)
      case .close(let id):
        open.remove(id)
        closed.append(id)
      }
    }
  }

  var leasedWaiters: [Int] { leases.map(\.waiter) }

  /// A connection that has room, or a place in the queue.
  enum Answer: Equatable { case leased(ConnectionID), waits(Int) }

  @discardableResult mutating func ask(
    _ key: ConnectionKey, priority: Float = 0.5, changesProtocol: Bool = false
  ) -> Answer {
    if let id = machine.lease(key) { return .leased(id) }
    let waiter = machine.wait(for: key, priority: priority, changesProtocol: changesProtocol, at: now)
    perform()
    return .waits(waiter)
  }

  /// Queues `count` waiters.
  @discardableResult mutating func wait(_ count: Int, for key: ConnectionKey, priority: Float = 0.5) -> [Int] {
    (0..<count).compactMap { _ in
      guard case .waits(let waiter) = ask(key, priority: priority) else { return nil }
      return waiter
    }
  }

  mutating func cancel(_ waiter: Int, _ key: ConnectionKey, priority: Float = 0.5) -> Bool {
    defer { perform() }
    return machine.cancel(waiter, key: key, priority: priority)
  }

  mutating func setPriority(of waiter: Int, _ key: ConnectionKey, from old: Float, to new: Float) {
    machine.setPriority(of: waiter, key: key, from: old, to: new)
    perform()
  }

  mutating func connected(_ id: ConnectionID, streams: Int? = nil, isTentative: Bool = false) {
    connecting.removeAll { $0 == id }
    open.insert(id)
    machine.connected(id, streams: streams, isTentative: isTentative, expiry: expiry, at: now)
    perform()
  }

  struct NothingIsConnecting: Error {}

  /// The attempt that was begun first succeeds.
  @discardableResult mutating func connectFirst(streams: Int? = nil, isTentative: Bool = false) throws -> ConnectionID {
    guard let id = connecting.first else { throw NothingIsConnecting() }
    connected(id, streams: streams, isTentative: isTentative)
    return id
  }

  mutating func fail(_ id: ConnectionID, because cause: any Error = DecidedPool.refused) {
    connecting.removeAll { $0 == id }
    machine.connectFailed(id, ConnectFailure(cause: cause, record: ConnectionRecord()), at: now)
    perform()
  }

  static let refused = TransportError.cannotConnect(host: "host", port: 80, reason: "refused")

  mutating func giveUp(_ id: ConnectionID) {
    connecting.removeAll { $0 == id }
    machine.attemptGivenUp(id)
    perform()
  }

  mutating func release(_ id: ConnectionID) {
    machine.released(id, expiry: expiry, at: now)
    perform()
  }

  mutating func lose(_ id: ConnectionID) {
    open.remove(id)
    machine.closed(id, at: now)
    perform()
  }

  mutating func drain(_ id: ConnectionID) {
    machine.draining(id, at: now)
    perform()
  }

  mutating func changeCapacity(of id: ConnectionID, to capacity: Int) {
    machine.capacityChanged(id, to: capacity, at: now)
    perform()
  }

  mutating func learnProtocolChange(_ id: ConnectionID, isOffered: Bool) {
    machine.learnedProtocolChange(id, isOffered: isOffered)
    perform()
  }

  mutating func endReservation(_ id: ConnectionID, as identity: ConnectionIdentity? = nil) {
    machine.endReservation(id, as: identity, at: now)
    perform()
  }

  /// - Returns: When the machine wants to be told again.
  @discardableResult mutating func pass(_ time: TimeAmount) -> NIODeadline? {
    now = now + time
    defer { perform() }
    return machine.timePassed(now)
  }

  mutating func retireAll() {
    machine.retireAll()
    perform()
  }

  mutating func shutDown() {
    machine.shutDown()
    perform()
  }

  /// The connection was of no use for the waiter it was leased to last.
  mutating func leaseFails(_ key: ConnectionKey, priority: Float = 0.5) {
    guard let lease = leases.popLast() else { return }
    machine.leaseFailed(lease.connection, .init(id: lease.waiter, priority: priority), key: key)
    perform()
  }
}

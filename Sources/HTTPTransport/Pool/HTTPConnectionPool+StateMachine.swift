import DequeModule
import NIOCore

extension HTTPConnectionPool {
  /// Which connections exist, who waits for one, and what to do next. No socket, no clock, no promise: an event goes
  /// in with the time it happened, an action comes out, and the pool performs it.
  ///
  /// A connection is connecting, leased or idle; what is none of these is forgotten. Waiters of one key are served in
  /// order of priority, then of arrival. A connecting connection belongs to nobody: whichever connection becomes free
  /// first goes to the waiter in front. A connection that speaks HTTP/2 serves many at a time; see
  /// `HTTPConnectionPool+StateMachine+Multiplexed.swift`. The limit is one for all keys of a server; see
  /// `HTTPConnectionPool+StateMachine+Sites.swift`.
  struct StateMachine {
    typealias ConnectionID = Int
    typealias WaiterID = Int

    enum Action: Equatable {
      case nothing
      case connect(ConnectionID, ConnectionKey)
      case lease(ConnectionID, WaiterID)
      case fail(WaiterID, thenConnect: ConnectionID?, ConnectionKey)
      case close(ConnectionID, thenConnect: ConnectionID?, ConnectionKey)
    }

    struct Waiter {
      let id: WaiterID
      let priority: Float

      /// Whether this one is served first. IDs grow with every arrival.
      func precedes(_ id: WaiterID, _ priority: Float) -> Bool {
        self.priority == priority ? self.id < id : self.priority > priority
      }
    }

    struct Idle {
      let id: ConnectionID
      let expiry: NIODeadline
    }

    /// A class, so that a change looks its key up once, and copies nothing.
    final class Host {
      fileprivate(set) var connecting: [ConnectionID: WaiterID] = [:]
      fileprivate(set) var leased = 0
      var idle: [Idle] = []
      fileprivate(set) var waiters = Deque<Waiter>()
      var multiplexed: [Multiplexed] = []
      /// The first attempt, which was to find out what the server speaks, failed.
      var probeFailed = false
      var total: Int { connecting.count + leased + idle.count + multiplexed.count { !$0.isDraining } }
      var isEmpty: Bool { total == 0 && waiters.isEmpty && multiplexed.isEmpty }

      func removeConnecting(_ id: ConnectionID) -> WaiterID? { connecting.removeValue(forKey: id) }

      func popWaiter() -> WaiterID? { waiters.popFirst()?.id }
    }

    let maximumPerHost: Int
    let offersHTTP2: Bool
    var hosts: [ConnectionKey: Host] = [:]
    /// The keys of `hosts` by server.
    var sites = Sites()
    /// Secure servers that chose HTTP/1.1 when they were last connected to.
    var http1Servers: Set<ConnectionKey> = []
    /// HTTP/2 servers whose streams carried nothing but HTTP when they last said so.
    var plainHTTP2Servers: Set<ConnectionKey> = []
    /// No connection has to go before this moment; it may be too early, never too late.
    private(set) var nothingExpiresBefore = NIODeadline.distantFuture
    private var lastID = 0

    init(maximumPerHost: Int, offersHTTP2: Bool = true) {
      self.maximumPerHost = max(1, maximumPerHost)
      self.offersHTTP2 = offersHTTP2
    }

    private mutating func nextID() -> Int {
      lastID &+= 1
      return lastID
    }

    // MARK: Asking for a connection

    /// The most recently used idle connection of `key`: the one least likely to have been closed by the server.
    mutating func leaseIdle(_ key: ConnectionKey) -> ConnectionID? {
      guard let host = hosts[key], let idle = host.idle.popLast() else { return nil }
      host.leased += 1
      return idle.id
    }

    /// Queues a waiter; call only after `leaseIdle` found nothing.
    mutating func wait(for key: ConnectionKey, priority: Float) -> (WaiterID, Action) {
      let id = nextID()
      let host = host(of: key)
      // From the back: of many that wait, most are alike, and their place is the end.
      let place = host.waiters.lastIndex { $0.priority >= priority }.map { $0 + 1 } ?? 0
      host.waiters.insert(Waiter(id: id, priority: priority), at: place)
      return (id, connectOrReplace(host, key))
    }

    private mutating func host(of key: ConnectionKey) -> Host {
      if let known = hosts[key] { return known }
      sites.insert(key)
      let made = Host()
      hosts[key] = made
      return made
    }

    /// A waiter gave up. A connection being made for it is kept: the next request finds it.
    /// - Parameter priority: With which it waits: of ten thousand, it is then found at once. nil when not known.
    mutating func cancel(_ waiter: WaiterID, key: ConnectionKey, priority: Float? = nil) -> Bool {
      guard remove(waiter, key, priority) else { return false }
      forgetIfEmpty(key)
      return true
    }

    /// A waiter is to be served as if it had asked with another priority when it came.
    mutating func reprioritize(_ waiter: WaiterID, key: ConnectionKey, from old: Float, to new: Float) {
      guard old != new, remove(waiter, key, old), let host = hosts[key] else { return }
      let place = StateMachine.place(of: waiter, new, in: host.waiters)
      host.waiters.insert(Waiter(id: waiter, priority: new), at: place)
    }

    private mutating func remove(_ waiter: WaiterID, _ key: ConnectionKey, _ priority: Float?) -> Bool {
      guard let host = hosts[key] else { return false }
      let index =
        priority.map { StateMachine.place(of: waiter, $0, in: host.waiters) }
        ?? host.waiters.firstIndex { $0.id == waiter }
      guard let index, index < host.waiters.count, host.waiters[index].id == waiter else { return false }
      host.waiters.remove(at: index)
      return true
    }

    /// Where `waiter` is, or belongs, in a queue that is in order.
    private static func place(of waiter: WaiterID, _ priority: Float, in waiters: Deque<Waiter>) -> Int {
      var (low, high) = (0, waiters.count)
      while low < high {
        let middle = (low + high) / 2
        if waiters[middle].precedes(waiter, priority) { low = middle + 1 } else { high = middle }
      }
      return low
    }

    /// Whether more waiters than connections under way are there, for whom connections are to be made.
    func needsConnection(_ host: Host, _ key: ConnectionKey) -> Bool {
      guard host.waiters.count > host.connecting.count, host.total < maximumPerHost else { return false }
      return !mayMultiplex(key) || !awaitsMultiplexing(host, key)
    }

    /// Starts a connection when one is needed and the limit allows it.
    mutating func connectIfNeeded(_ host: Host, _ key: ConnectionKey) -> ConnectionID? {
      guard needsConnection(host, key), host.total + totalOfSiblings(key) < maximumPerHost else { return nil }
      let id = nextID()
      host.connecting[id] = host.waiters[host.connecting.count].id
      return id
    }

    /// The waiter that the connection being made was begun for; it may have left meanwhile.
    func starter(of id: ConnectionID, key: ConnectionKey) -> WaiterID? { hosts[key]?.connecting[id] }

    /// Whether the host has all the connections it may have.
    func isFull(_ key: ConnectionKey) -> Bool {
      hosts[key].map { $0.total + totalOfSiblings(key) >= maximumPerHost } ?? false
    }

    // MARK: What becomes of connections

    mutating func connected(_ id: ConnectionID, key: ConnectionKey, expiry: NIODeadline) -> Action {
      guard hosts[key]?.connecting.removeValue(forKey: id) != nil else { return .close(id, thenConnect: nil, key) }
      if mayMultiplex(key) { speaksHTTP1(key) }
      return becameFree(id, key: key, expiry: expiry)
    }

    /// A further connection that is needed now: of a server of which it was not known what it speaks, only one was made.
    mutating func connectMore(_ key: ConnectionKey) -> Action {
      guard let host = hosts[key] else { return .nothing }
      return connectOrReplace(host, key)
    }

    /// The attempt failed. Fails the waiter it was started for, unless another connection served it already.
    mutating func connectFailed(_ id: ConnectionID, key: ConnectionKey) -> Action {
      guard let startedFor = hosts[key]?.connecting.removeValue(forKey: id) else { return .nothing }
      defer { forgetIfEmpty(key) }
      let failed = remove(startedFor, key, nil)
      hosts[key]?.probeFailed = true
      let next = connectInFreedPlace(key)
      if failed { return .fail(startedFor, thenConnect: next?.id, next?.key ?? key) }
      return next.map { .connect($0.id, $0.key) } ?? .nothing
    }

    /// Whether the waiter that the attempt was started for has left.
    func isOrphaned(_ id: ConnectionID, key: ConnectionKey) -> Bool {
      guard let host = hosts[key], let startedFor = host.connecting[id] else { return true }
      return !host.waiters.contains { $0.id == startedFor }
    }

    /// An exchange ended and the connection can serve again.
    mutating func released(_ id: ConnectionID, key: ConnectionKey, expiry: NIODeadline) -> Action {
      guard let host = hosts[key], host.leased > 0 else { return .close(id, thenConnect: nil, key) }
      host.leased -= 1
      return becameFree(id, key: key, expiry: expiry)
    }

    /// A leased connection is gone; a waiter may need a new one in its place.
    mutating func leasedConnectionClosed(key: ConnectionKey) -> Action {
      guard let host = hosts[key], host.leased > 0 else { return .nothing }
      defer { forgetIfEmpty(key) }
      host.leased -= 1
      return connectInFreedPlace(key).map { .connect($0.id, $0.key) } ?? .nothing
    }

    /// The other side closed an idle connection.
    mutating func idleConnectionClosed(_ id: ConnectionID, key: ConnectionKey) {
      hosts[key]?.idle.removeAll { $0.id == id }
      forgetIfEmpty(key)
    }

    private mutating func becameFree(_ id: ConnectionID, key: ConnectionKey, expiry: NIODeadline) -> Action {
      if mustGiveWay(key), let next = connectInFreedPlace(key) {
        forgetIfEmpty(key)
        return .close(id, thenConnect: next.id, next.key)
      }
      let host = host(of: key)
      if let waiter = host.waiters.popFirst() {
        host.leased += 1
        return .lease(id, waiter.id)
      }
      host.idle.append(Idle(id: id, expiry: expiry))
      mayExpire(at: expiry)
      return .nothing
    }

    // MARK: Time and the end

    mutating func mayExpire(at time: NIODeadline) { nothingExpiresBefore = min(nothingExpiresBefore, time) }

    /// Takes out the idle connections whose time has passed. Returns them, and when to look again.
    mutating func expire(at now: NIODeadline) -> (close: [ConnectionID], wake: NIODeadline?) {
      var expired: [ConnectionID] = []
      var wake: NIODeadline?
      for (key, host) in hosts {
        let due = host.idle.filter { $0.expiry <= now }
        if !due.isEmpty {
          expired += due.map(\.id)
          host.idle.removeAll { $0.expiry <= now }
          forgetIfEmpty(key)
        }
        for idle in host.idle where idle.expiry > now { wake = min(wake ?? idle.expiry, idle.expiry) }
        guard !host.multiplexed.isEmpty else { continue }
        expired += expireMultiplexed(key, at: now, wake: &wake)
        forgetIfEmpty(key)
      }
      nothingExpiresBefore = wake ?? .distantFuture
      return (expired, wake)
    }

    /// Takes out what nobody uses. Connections that serve many take no more, and are closed by the end of their last.
    mutating func removeAllIdle() -> [ConnectionID] {
      var all = hosts.values.flatMap { $0.idle.map(\.id) }
      for key in Array(hosts.keys) {
        hosts[key]?.idle = []
        all += drainMultiplexed(key)
        forgetIfEmpty(key)
      }
      return all
    }

    mutating func removeAllWaiters() -> [WaiterID] {
      let all = hosts.values.flatMap { $0.waiters.map(\.id) }
      for key in Array(hosts.keys) {
        hosts[key]?.waiters = []
        forgetIfEmpty(key)
      }
      return all
    }

    mutating func forgetIfEmpty(_ key: ConnectionKey) {
      guard hosts[key]?.isEmpty == true else { return }
      hosts[key] = nil
      sites.remove(key)
    }
  }
}

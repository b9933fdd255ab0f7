import DequeModule
import NIOCore

extension HTTPConnectionPool {
  /// The pool's decisions: which connections exist, who waits for one, and what to do next. A value without sockets,
  /// clock or promises: an event goes in with the time at which it happened, and the actions that follow are taken out
  /// one by one with `nextAction()`.
  ///
  /// - A *group* holds the connections and waiters of one `ConnectionKey`; only requests of one group share connections.
  /// - A *host* is a server and the way to it. The limit of connections is one for all groups of a host.
  /// - A connection is being made, or open with a capacity: 1, or the number of streams that its server takes. It is
  ///   *available* while it has room.
  /// - Waiters of a group are served in order of priority, then of arrival, by whichever connection has room first. A
  ///   connection that is being made is not promised to a waiter; it only remembers for which one it was begun.
  ///
  /// There is one machine for each pool and no copy of it: its groups and hosts are objects, which a copy would share.
  ///
  /// Decisions about limits and siblings are in `…+StateMachine+Hosts.swift`, reservations and the end of connections in
  /// `…+StateMachine+Endings.swift`.
  struct StateMachine: ~Copyable {
    typealias ConnectionID = SlotTable<Connection>.ID
    typealias GroupID = SlotTable<Group>.ID
    typealias HostID = SlotTable<Host>.ID

    /// Unique, and greater with every arrival.
    typealias WaiterID = Int

    enum Action {
      /// Make a connection. It was begun for this waiter, which may be gone when it is there.
      case connect(ConnectionID, ConnectionKey, for: WaiterID)
      /// Start an exchange for the waiter. Reply with `released` or `leaseFailed` when that is not possible.
      case lease(ConnectionID, WaiterID)
      case fail(WaiterID, WaitFailure)
      /// The new connection serves no request yet.
      case keepIdle(ConnectionID)
      case close(ConnectionID)
    }

    /// Why a wait for a connection ended without one.
    enum WaitFailure {
      case notConnected(ConnectFailure)
      /// The server takes no other protocol in its streams, or has no streams.
      case requiresHTTP1
      case shutDown
    }

    struct Connection {
      var group: GroupID
      var phase: Phase
      /// Whether it serves several requests at a time.
      var isMultiplexed = false
      /// How many requests it serves at a time.
      var capacity = 1
      /// How many it serves now.
      var inUse = 0
      /// It takes no further request and is closed after its last one.
      var isDraining = false
      /// It serves one conversation alone, between that one's requests too.
      var isReserved = false
      /// When to close it while it is not in use.
      var expiry = NIODeadline.distantFuture
      /// When to close it while it is not in use and others of its group have streams too.
      var surplusExpiry = NIODeadline.distantFuture

      enum Phase: Equatable {
        case connecting(for: WaiterID)
        case open
      }

      /// Whether requests of its group may use it, when it has room.
      var takesRequests: Bool { phase == .open && !isDraining && !isReserved }
      var hasRoom: Bool { takesRequests && inUse < capacity }
      var isUnused: Bool { phase == .open && !isReserved && inUse == 0 }
      /// Whether it counts against the host's limit. A connection with streams that takes no more may be replaced at
      /// once: its last streams may go on for long.
      var counts: Bool { !(isMultiplexed && isDraining) }
    }

    struct Waiter {
      let id: WaiterID
      var priority: Float
      /// It wants a stream for another protocol than HTTP (RFC 8441).
      var changesProtocol = false

      /// Whether this waiter is served before one with `id` and `priority`.
      func precedes(_ id: WaiterID, _ priority: Float) -> Bool {
        self.priority == priority ? self.id < id : self.priority > priority
      }
    }

    /// The connections and waiters of one key. An object, because each request looks at it many times: a reference is
    /// copied faster than its fields. The machine's own; see there.
    final class Group {
      let key: ConnectionKey
      let host: HostID
      var connecting: [ConnectionID] = []
      /// Open connections with room; the one that was used last is at the end: the least likely to have been closed by
      /// the server.
      var available: [ConnectionID] = []
      /// All open connections.
      var open = 0
      /// Open connections that take further streams.
      var multiplexed = 0
      /// Open connections whose servers have not said yet how many streams they take.
      var tentative: [ConnectionID] = []
      /// How many streams the server took when it last said so.
      var saidStreams: Int?
      var waiters = Deque<Waiter>()
      /// The first attempt, which was to find out what the server speaks, failed.
      var probeFailed = false
      /// No connection is made before, because the last attempt failed while others serve.
      var connectsAgain: NIODeadline?

      init(key: ConnectionKey, host: HostID) {
        self.key = key
        self.host = host
      }

      var isEmpty: Bool { open == 0 && connecting.isEmpty && waiters.isEmpty }

      /// Puts a waiter where it belongs in the queue.
      func enqueue(_ waiter: Waiter) {
        let isLast = waiters.last?.precedes(waiter.id, waiter.priority) ?? true
        waiters.insert(waiter, at: isLast ? waiters.count : place(of: waiter.id, waiter.priority))
      }

      func remove(_ waiter: WaiterID, _ priority: Float) -> Waiter? {
        let index = place(of: waiter, priority)
        guard index < waiters.count, waiters[index].id == waiter else { return nil }
        return waiters.remove(at: index)
      }

      /// The index of `waiter`, or the one where it belongs.
      private func place(of waiter: WaiterID, _ priority: Float) -> Int {
        var (low, high) = (0, waiters.count)
        while low < high {
          let middle = (low + high) / 2
          if waiters[middle].precedes(waiter, priority) { low = middle + 1 } else { high = middle }
        }
        return low
      }
    }

    private let maximumPerHost: Int
    private let shares: HostShares?
    let offersHTTP2: Bool
    private(set) var isShutDown = false
    var connections = SlotTable<Connection>()
    var groups = SlotTable<Group>()
    var groupIDs: [ConnectionKey: GroupID] = [:]
    var hosts = SlotTable<Host>()
    var hostIDs: [HostKey: HostID] = [:]
    /// The protocols that servers were found to speak, kept when their last connection is gone.
    var protocols = KnownProtocols()
    private var actions = Deque<Action>()
    private var lastWaiter = 0
    /// The time of the last event.
    var now = NIODeadline.uptimeNanoseconds(0)
    /// No connection has to be closed and none made again before this moment; it may be too early, never too late.
    private(set) var nothingIsDueBefore = NIODeadline.distantFuture

    /// How long no further connection is made after an attempt failed, while others serve.
    static let pauseAfterFailure = TimeAmount.seconds(1)

    /// How long a connection with streams is kept while it is not in use, where another one could serve its requests.
    static let surplusIdleTimeout = TimeAmount.seconds(5)

    /// - Parameter shares: How hosts are divided among several pools; nil where each has one.
    init(maximumPerHost: Int, shares: HostShares? = nil, offersHTTP2: Bool = true) {
      self.maximumPerHost = max(1, maximumPerHost)
      self.shares = shares
      self.offersHTTP2 = offersHTTP2
    }

    /// The connections that there may be here to the host of `key`.
    func limit(of key: ConnectionKey) -> Int {
      if let shares, shares.divide(key) { shares.connections } else { maximumPerHost }
    }

    /// The next thing to do. Call until it returns nil, after every event.
    mutating func nextAction() -> Action? { actions.popFirst() }

    mutating func act(_ action: Action) { actions.append(action) }

    // MARK: Asking for a connection

    /// Takes room on an available connection; nil when there is none.
    mutating func lease(_ key: ConnectionKey) -> ConnectionID? { groupIDs[key].flatMap { takeRoom(in: $0) } }

    /// Takes room on a certain connection, for a request of another group.
    /// - Returns: Whether there is room.
    mutating func lease(_ id: ConnectionID) -> Bool {
      guard let connection = connections[id], connection.hasRoom else { return false }
      connections[id]?.inUse += 1
      if connections[id]?.hasRoom != true { groups[connection.group]?.available.removeAll { $0 == id } }
      return true
    }

    /// Queues a waiter. Call after `lease` found nothing.
    mutating func wait(for key: ConnectionKey, priority: Float, changesProtocol: Bool = false, at now: NIODeadline)
      -> WaiterID
    {
      self.now = now
      lastWaiter += 1
      let waiter = Waiter(id: lastWaiter, priority: priority, changesProtocol: changesProtocol)
      guard !isShutDown else {
        act(.fail(waiter.id, .shutDown))
        return waiter.id
      }
      let group = group(of: key)
      groups[group]?.enqueue(waiter)
      connectWhereNeeded(group)
      return waiter.id
    }

    mutating func group(of key: ConnectionKey) -> GroupID {
      if let known = groupIDs[key] { return known }
      let host = host(of: key)
      let id = groups.insert(Group(key: key, host: host))
      groupIDs[key] = id
      hosts[host]?.groups.append(id)
      return id
    }

    /// The waiter no longer wants a connection. One that is being made for it is finished: the next request finds it.
    /// - Parameter priority: The priority with which it waits.
    /// - Returns: Whether it was waiting.
    @discardableResult mutating func cancel(_ waiter: WaiterID, key: ConnectionKey, priority: Float) -> Bool {
      guard let group = groupIDs[key], groups[group]?.remove(waiter, priority) != nil else { return false }
      forgetIfEmpty(group)
      return true
    }

    /// Moves a waiter to where it would be if it had come with another priority.
    mutating func setPriority(of waiter: WaiterID, key: ConnectionKey, from old: Float, to new: Float) {
      guard old != new, let group = groupIDs[key].flatMap({ groups[$0] }), var moved = group.remove(waiter, old) else {
        return
      }
      moved.priority = new
      group.enqueue(moved)
    }

    /// The waiter that can answer for a connection that is being made: the one it was begun for, else the first.
    func waiter(for id: ConnectionID) -> WaiterID? {
      guard let connection = connections[id], case .connecting(let starter) = connection.phase,
        let waiters = groups[connection.group]?.waiters
      else { return nil }
      return waiters.contains { $0.id == starter } ? starter : waiters.first?.id
    }

    /// Whether the waiter that a connection is being made for has left.
    func isOrphaned(_ id: ConnectionID) -> Bool {
      guard let connection = connections[id], case .connecting(let starter) = connection.phase else { return true }
      return groups[connection.group]?.waiters.contains { $0.id == starter } != true
    }

    /// The connections that are being made for a key.
    func attempts(of key: ConnectionKey) -> [ConnectionID] {
      groupIDs[key].flatMap { groups[$0]?.connecting } ?? []
    }

    // MARK: What becomes of connections

    /// A connection was made.
    /// - Parameters:
    ///   - streams: How many streams the server takes at a time; nil when the connection serves one request at a time.
    ///   - isTentative: The server has not said so yet.
    mutating func connected(
      _ id: ConnectionID, streams: Int?, isTentative: Bool = false, expiry: NIODeadline, at now: NIODeadline
    ) {
      self.now = now
      guard let connection = connections[id], connection.phase != .open, let group = groups[connection.group] else {
        return act(.close(id))
      }
      // One at least: a server that takes none is asked, so that what it refuses counts.
      let streams = isTentative ? streams.map { max(1, group.saidStreams ?? $0) } : streams
      if !isTentative, let streams { group.saidStreams = streams }
      if mayMultiplex(group.key) { protocols.note(HostKey(group.key), isHTTP1: streams == nil) }
      groups[connection.group]?.connecting.removeAll { $0 == id }
      groups[connection.group]?.probeFailed = false
      groups[connection.group]?.connectsAgain = nil
      guard streams == nil || group.multiplexed == 0 || !group.waiters.isEmpty else {
        // One connection with streams is enough, while it has room.
        connections.remove(id)
        hosts[group.host]?.counted -= 1
        act(.close(id))
        connectWhereNeeded(connection.group)
        return forgetIfEmpty(connection.group)
      }
      connections[id]?.phase = .open
      connections[id]?.expiry = expiry
      connections[id]?.surplusExpiry = now + StateMachine.surplusIdleTimeout
      connections[id]?.isMultiplexed = streams != nil
      connections[id]?.capacity = streams ?? 1
      groups[connection.group]?.open += 1
      if streams != nil { groups[connection.group]?.multiplexed += 1 }
      if streams != nil, isTentative { groups[connection.group]?.tentative.append(id) }
      hasRoomAgain(id, connection.group)
      if streams == nil { turnAwayProtocolChanges(group.host) }
      connectWhereNeeded(connection.group)
      if connections[id]?.isUnused == true { act(.keepIdle(id)) }
    }

    /// An attempt failed. Fails the waiter it was begun for, unless that was served by another connection already, or can
    /// wait for one that serves.
    mutating func connectFailed(_ id: ConnectionID, _ failure: ConnectFailure, at now: NIODeadline) {
      self.now = now
      guard let (starter, group) = removeAttempt(id) else { return }
      groups[group]?.probeFailed = true
      if failure.mayBeOvercomeByWaiting, isServed(group) {
        let again = now + StateMachine.pauseAfterFailure
        groups[group]?.connectsAgain = again
        isDue(at: again)
      } else if let index = groups[group]?.waiters.firstIndex(where: { $0.id == starter }) {
        groups[group]?.waiters.remove(at: index)
        act(.fail(starter, .notConnected(failure)))
      }
      connectWhereNeeded(group)
      forgetIfEmpty(group)
    }

    /// An attempt is given up; its waiters get others.
    mutating func attemptGivenUp(_ id: ConnectionID) {
      guard let (_, group) = removeAttempt(id) else { return }
      connectWhereNeeded(group)
      forgetIfEmpty(group)
    }

    private mutating func removeAttempt(_ id: ConnectionID) -> (starter: WaiterID, GroupID)? {
      guard let connection = connections[id], case .connecting(let starter) = connection.phase else { return nil }
      connections.remove(id)
      groups[connection.group]?.connecting.removeAll { $0 == id }
      if let host = groups[connection.group]?.host { hosts[host]?.counted -= 1 }
      return (starter, connection.group)
    }

    /// A request on the connection is over, and the connection can serve another.
    mutating func released(_ id: ConnectionID, expiry: NIODeadline, at now: NIODeadline) {
      self.now = now
      guard let before = connections[id], before.inUse > 0 else { return }
      connections[id]?.inUse -= 1
      connections[id]?.expiry = expiry
      connections[id]?.surplusExpiry = now + StateMachine.surplusIdleTimeout
      guard !before.isReserved else { return }
      guard !before.isDraining else { return before.inUse == 1 ? close(id) : () }
      hasRoomAgain(id, before.group)
    }

    /// The server takes another number of streams, or says for the first time how many.
    mutating func capacityChanged(_ id: ConnectionID, to capacity: Int, at now: NIODeadline) {
      self.now = now
      guard let connection = connections[id] else { return }
      connections[id]?.capacity = capacity
      groups[connection.group]?.tentative.removeAll { $0 == id }
      groups[connection.group]?.saidStreams = capacity
      defer { connectWhereNeeded(connection.group) }
      guard connections[id]?.hasRoom == true else {
        groups[connection.group]?.available.removeAll { $0 == id }
        return
      }
      hasRoomAgain(id, connection.group)
    }

    /// The connection has room: it serves waiters, makes room for a connection of a sibling, or is kept.
    func isAvailable(_ id: ConnectionID, in group: GroupID) -> Bool {
      groups[group]?.available.contains(id) ?? false
    }

    mutating func hasRoomAgain(_ id: ConnectionID, _ group: GroupID) {
      guard connections[id]?.hasRoom == true else { return }
      if connections[id]?.isUnused == true, mustGiveWay(group) { return close(id) }
      if !isAvailable(id, in: group) { groups[group]?.available.append(id) }
      serve(group)
      guard connections[id]?.isUnused == true else { return }
      isDue(at: idleEnd(of: id))
    }

    /// When to close a connection that is not in use.
    private func idleEnd(of id: ConnectionID) -> NIODeadline {
      guard let connection = connections[id] else { return .distantFuture }
      let isSurplus = connection.isMultiplexed && groups[connection.group]?.multiplexed ?? 0 > 1
      return isSurplus ? min(connection.expiry, connection.surplusExpiry) : connection.expiry
    }

    /// Gives the room that there is to waiters.
    private mutating func serve(_ group: GroupID) {
      while groups[group]?.waiters.isEmpty == false, let id = takeRoom(in: group) {
        if let waiter = groups[group]?.waiters.popFirst() { act(.lease(id, waiter.id)) }
      }
    }

    private mutating func takeRoom(in group: GroupID) -> ConnectionID? {
      guard let id = groups[group]?.available.last else { return nil }
      connections[id]?.inUse += 1
      if connections[id]?.hasRoom != true { groups[group]?.available.removeLast() }
      return id
    }

    /// A lease could not be performed: the connection turned out to be of no use. The waiter keeps its place.
    mutating func leaseFailed(_ id: ConnectionID, _ waiter: Waiter, key: ConnectionKey) {
      let group = group(of: key)
      groups[group]?.enqueue(waiter)
      close(id)
      serve(group)
      connectWhereNeeded(group)
    }

    // MARK: Time and the end

    mutating func isDue(at time: NIODeadline) { nothingIsDueBefore = min(nothingIsDueBefore, time) }

    /// Closes the connections that have not been in use for too long, and makes those that were put off.
    /// - Returns: When to call this again; nil when nothing is due at any time.
    @discardableResult mutating func timePassed(_ now: NIODeadline) -> NIODeadline? {
      self.now = now
      nothingIsDueBefore = .distantFuture
      for id in connections.ids {
        guard connections[id]?.isUnused == true else { continue }
        let end = idleEnd(of: id)
        if end <= now { close(id) } else { isDue(at: end) }
      }
      for id in groups.ids {
        guard let again = groups[id]?.connectsAgain else { continue }
        if again <= now { groups[id]?.connectsAgain = nil } else { isDue(at: again) }
        connectWhereNeeded(id)
      }
      return nothingIsDueBefore == .distantFuture ? nil : nothingIsDueBefore
    }

    /// Closes what is not in use. What is in use serves no further request.
    mutating func retireAll() {
      for id in connections.ids { retire(id) }
    }

    /// Fails all waiters and forgets all connections.
    mutating func shutDown() {
      isShutDown = true
      for id in groups.ids {
        for waiter in groups[id]?.waiters ?? [] { act(.fail(waiter.id, .shutDown)) }
      }
      connections.removeAll()
      groups.removeAll()
      groupIDs = [:]
      hosts.removeAll()
      hostIDs = [:]
    }
  }
}

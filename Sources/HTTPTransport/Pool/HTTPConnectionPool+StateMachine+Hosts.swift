import NIOCore

/// The limit of connections, which is one for all groups of a host: requests that must not share a connection, because
/// their packets are marked differently or because they may not use every network, still share their number.
///
/// A group that may have no further connection only because of its siblings gets the place of an unused connection of
/// theirs, or the next place that becomes free, in the order of those who wait. As long as a group has connections its own
/// waiters come first on them: two groups of one host do not take connections from each other for every request.
extension HTTPConnectionPool.StateMachine {
  /// A server and the way to it. WebSockets, whose connections are of HTTP/1.1 and leave the pool, are not held up by
  /// requests that keep all others busy.
  struct HostKey: Hashable {
    let scheme: ConnectionKey.Scheme
    let host: String
    let port: Int
    let proxy: ProxyHop?
    let allowsHTTP2: Bool
    let isQUIC: Bool

    init(_ key: ConnectionKey) {
      scheme = key.scheme
      host = key.host
      port = key.port
      proxy = key.proxy
      allowsHTTP2 = key.allowsHTTP2
      isQUIC = key.quic != nil
    }
  }

  /// An object of the machine's own, as a `Group` is.
  final class Host {
    let key: HostKey
    var groups: [GroupID] = []
    /// Connections that count against the limit.
    var counted = 0
    private let limit: Int

    init(key: HostKey, limit: Int) { (self.key, self.limit) = (key, limit) }

    var isFull: Bool { counted >= limit }
  }

  func mayMultiplex(_ key: ConnectionKey) -> Bool {
    key.quic != nil || offersHTTP2 && key.allowsHTTP2 && (key.scheme == .https || key.asksProxySecurely)
  }

  mutating func host(of key: ConnectionKey) -> HostID {
    let hostKey = HostKey(key)
    if let known = hostIDs[hostKey] { return known }
    let id = hosts.insert(Host(key: hostKey, limit: limit(of: key)))
    hostIDs[hostKey] = id
    return id
  }

  private func siblings(of group: GroupID) -> [GroupID] {
    guard let host = groups[group]?.host, let all = hosts[host]?.groups, all.count > 1 else { return [] }
    return all.filter { $0 != group }
  }

  /// Whether the host of `key` has all the connections it may have.
  func isFull(_ key: ConnectionKey) -> Bool {
    guard let group = groupIDs[key].flatMap({ groups[$0] }) else { return false }
    return hosts[group.host]?.isFull ?? false
  }

  /// Whether there are more waiters than connections being made for them, and more connections would help.
  private func needsConnection(_ id: GroupID) -> Bool {
    guard let group = groups[id], group.waiters.count > group.connecting.count else { return false }
    if let again = group.connectsAgain, now < again, isServed(id) { return false }
    return !awaitsStreams(group)
  }

  /// Whether the group has an open connection for its waiters: not one that one conversation has for itself, and not one
  /// that is closed after its last request.
  func isServed(_ group: GroupID) -> Bool {
    guard groups[group]?.open ?? 0 > 0 else { return false }
    return connections.ids.contains { connections[$0]?.group == group && connections[$0]?.takesRequests == true }
  }

  /// A secure server that may speak HTTP/2 gets one connection first. When it turns out to speak HTTP/2 its
  /// streams serve the waiters, and those of another connection, one after the other, when all are in use and the server
  /// has said that it takes no more; when it speaks HTTP/1.1 the other connections are made at once, and without asking the
  /// next time. Over QUIC there is one connection: its server gives streams as others end.
  private func awaitsStreams(_ group: Group) -> Bool {
    guard mayMultiplex(group.key) else { return false }
    if group.multiplexed > 0 {
      return group.key.quic != nil || !group.connecting.isEmpty || !group.tentative.isEmpty
    }
    return !group.connecting.isEmpty && !group.probeFailed && !protocols.isHTTP1(HostKey(group.key))
  }

  /// Begins the connections that waiters need and the limit allows: for the group that waits first, first.
  mutating func connectWhereNeeded(_ group: GroupID) {
    let siblings = siblings(of: group)
    guard !siblings.isEmpty else {
      while needsConnection(group), hasFreePlace(group) { connect(group) }
      return
    }
    while let next = ([group] + siblings).filter({ needsConnection($0) }).min(by: { precedes($0, $1) }) {
      guard hasFreePlace(next) || takePlaceOfUnused(besides: next) else { return }
      connect(next)
    }
  }

  private func hasFreePlace(_ group: GroupID) -> Bool {
    guard let host = groups[group]?.host, let isFull = hosts[host]?.isFull else { return false }
    return !isFull
  }

  private mutating func connect(_ id: GroupID) {
    guard let group = groups[id], group.connecting.count < group.waiters.count else { return }
    let starter = group.waiters[group.connecting.count].id
    let connection = connections.insert(Connection(group: id, phase: .connecting(for: starter)))
    groups[id]?.connecting.append(connection)
    hosts[group.host]?.counted += 1
    act(.connect(connection, group.key, for: starter))
  }

  /// Whether the waiter in front of one group comes before that of another. A group without waiters comes last.
  private func precedes(_ one: GroupID, _ other: GroupID) -> Bool {
    guard let first = groups[one]?.waiters.first else { return false }
    guard let second = groups[other]?.waiters.first else { return true }
    return first.precedes(second.id, second.priority)
  }

  /// Whether an unused connection of `group` has to make room for a sibling's: when no waiter is there for it, or when
  /// the sibling has no connection at all and its waiter is the one in front.
  func mustGiveWay(_ group: GroupID) -> Bool {
    guard let host = groups[group]?.host, hosts[host]?.isFull == true else { return false }
    return siblings(of: group).contains { sibling in
      guard let other = groups[sibling], needsConnection(sibling) else { return false }
      if groups[group]?.waiters.isEmpty != false { return true }
      return other.open == 0 && other.connecting.isEmpty && precedes(sibling, group)
    }
  }

  /// Closes the unused connection of a sibling that would be closed first.
  private mutating func takePlaceOfUnused(besides group: GroupID) -> Bool {
    var oldest: (id: ConnectionID, group: GroupID, expiry: NIODeadline)?
    for sibling in siblings(of: group) {
      for id in groups[sibling]?.available ?? [] {
        guard let connection = connections[id], connection.isUnused else { continue }
        if oldest.map({ connection.expiry < $0.expiry }) ?? true { oldest = (id, sibling, connection.expiry) }
      }
    }
    guard let oldest else { return false }
    remove(oldest.id)
    act(.close(oldest.id))
    forgetIfEmpty(oldest.group)
    return true
  }

  /// Forgets a group without connections and waiters, and a host without groups.
  mutating func forgetIfEmpty(_ id: GroupID) {
    guard let group = groups[id], group.isEmpty else { return }
    groups.remove(id)
    groupIDs[group.key] = nil
    hosts[group.host]?.groups.removeAll { $0 == id }
    guard let host = hosts[group.host], host.groups.isEmpty else { return }
    hosts.remove(group.host)
    hostIDs[host.key] = nil
  }
}

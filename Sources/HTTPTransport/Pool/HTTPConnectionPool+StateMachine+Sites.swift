import NIOCore

/// One limit for all the keys of a server: requests that must not share a connection, because their packets are marked
/// differently or because they may not use every network, still share the number of connections.
///
/// A key that is full only because of its siblings gets the place of an idle connection of theirs, or the next place
/// that becomes free, in the order of those who wait. As long as a key has connections its own waiters come first on
/// them: two keys of one server do not take connections from each other for every request.
extension HTTPConnectionPool.StateMachine {
  /// A server, and the way to it. WebSockets, whose connections are of HTTP/1.1 and leave the pool, are not held up by
  /// requests that keep all others busy.
  private struct Site: Hashable {
    let scheme: ConnectionKey.Scheme
    let host: String
    let port: Int
    let proxy: ProxyHop?
    let allowsHTTP2: Bool

    init(_ key: ConnectionKey) {
      scheme = key.scheme
      host = key.host
      port = key.port
      proxy = key.proxy
      allowsHTTP2 = key.allowsHTTP2
    }
  }

  /// Which keys are of the same server.
  struct Sites {
    private var keys: [Site: [ConnectionKey]] = [:]
    /// How many servers have several keys: mostly none, and nothing needs to be looked up.
    private var shared = 0

    mutating func insert(_ key: ConnectionKey) {
      keys[Site(key), default: []].append(key)
      if keys[Site(key)]?.count == 2 { shared += 1 }
    }

    mutating func remove(_ key: ConnectionKey) {
      let site = Site(key)
      guard var left = keys[site], let index = left.firstIndex(of: key) else { return }
      left.remove(at: index)
      if left.count == 1 { shared -= 1 }
      keys[site] = left.isEmpty ? nil : left
    }

    func siblings(of key: ConnectionKey) -> [ConnectionKey] {
      shared == 0 ? [] : keys[Site(key)]?.filter { $0 != key } ?? []
    }
  }

  /// Connections of the other keys of the server.
  func totalOfSiblings(_ key: ConnectionKey) -> Int {
    sites.siblings(of: key).reduce(0) { $0 + (hosts[$1]?.total ?? 0) }
  }

  /// Starts a connection for a waiter of `host`, in the place of a sibling's idle one if need be.
  mutating func connectOrReplace(_ host: Host, _ key: ConnectionKey) -> Action {
    if let id = connectIfNeeded(host, key) { return .connect(id, key) }
    guard needsConnection(host, key), let idle = takeIdle(besides: key) else { return .nothing }
    return .close(idle, thenConnect: connectIfNeeded(host, key), key)
  }

  /// A connection is gone: starts another one for who has waited longest for one, of any key of the server.
  mutating func connectInFreedPlace(_ key: ConnectionKey) -> (id: ConnectionID, key: ConnectionKey)? {
    var candidates = sites.siblings(of: key).filter { hosts[$0]?.waiters.isEmpty == false }
    candidates.append(key)
    if candidates.count > 1 { candidates.sort { precedes($0, $1) } }
    for candidate in candidates {
      guard let host = hosts[candidate], let id = connectIfNeeded(host, candidate) else { continue }
      return (id, candidate)
    }
    return nil
  }

  /// Whether a connection of `key` that has become free has to make room for a sibling's: when nobody waits for it, or
  /// when the sibling has none at all and its waiter is the one in front.
  func mustGiveWay(_ key: ConnectionKey) -> Bool {
    sites.siblings(of: key).contains { sibling in
      guard let host = hosts[sibling], needsConnection(host, sibling) else { return false }
      return hosts[key]?.waiters.isEmpty != false || host.total == 0 && precedes(sibling, key)
    }
  }

  /// Whether the waiter in front of one key comes before that of another. Nobody comes last.
  private func precedes(_ one: ConnectionKey, _ other: ConnectionKey) -> Bool {
    guard let first = hosts[one]?.waiters.first else { return false }
    guard let second = hosts[other]?.waiters.first else { return true }
    return first.precedes(second.id, second.priority)
  }

  /// Takes out the connection of a sibling that nobody uses, the one that will expire first.
  private mutating func takeIdle(besides key: ConnectionKey) -> ConnectionID? {
    let siblings = sites.siblings(of: key)
    let idle = siblings.compactMap { sibling in hosts[sibling]?.idle.first.map { (sibling, $0) } }
    if let (sibling, oldest) = idle.min(by: { $0.1.expiry < $1.1.expiry }) {
      hosts[sibling]?.idle.removeFirst()
      forgetIfEmpty(sibling)
      return oldest.id
    }
    for sibling in siblings {
      let unused = hosts[sibling]?.multiplexed.firstIndex { $0.streams == 0 && !$0.isDraining }
      guard let unused, let connection = hosts[sibling]?.multiplexed.remove(at: unused) else { continue }
      forgetIfEmpty(sibling)
      return connection.id
    }
    return nil
  }
}

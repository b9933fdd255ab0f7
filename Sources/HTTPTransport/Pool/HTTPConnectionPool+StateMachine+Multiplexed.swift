import NIOCore

/// HTTP/2 in the pool: one connection a server, many streams on it.
///
/// Of a secure server that may speak HTTP/2 one connection is made first. When it turns out to speak HTTP/2, those who
/// wait get streams of it, as many as the server takes at a time; when it speaks HTTP/1.1, the other connections are
/// made at once, and without asking the next time.
extension HTTPConnectionPool.StateMachine {
  struct Multiplexed {
    let id: ConnectionID
    var streams = 0
    /// How many streams the server takes at a time.
    var limit: Int
    /// It takes no further streams and ends with its last one.
    var isDraining = false
    /// When to close it, while it has no streams.
    var expiry: NIODeadline
    var hasRoom: Bool { !isDraining && streams < limit }
  }

  /// Past so many remembered servers all are forgotten: asking again costs a little time and nothing else.
  private static let rememberedServers = 1_024

  func mayMultiplex(_ key: ConnectionKey) -> Bool { offersHTTP2 && key.scheme == .https && key.allowsHTTP2 }

  /// Whether those who wait shall have streams, of a connection that is there or of one that is being made.
  func awaitsMultiplexing(_ host: Host, _ key: ConnectionKey) -> Bool {
    if host.multiplexed.contains(where: { !$0.isDraining }) { return true }
    return !host.connecting.isEmpty && !host.probeFailed && !http1Servers.contains(key)
  }

  mutating func speaksHTTP1(_ key: ConnectionKey) {
    if http1Servers.count >= Self.rememberedServers { http1Servers = [] }
    http1Servers.insert(key)
    hosts[key]?.probeFailed = false
  }

  /// RFC 8441 §3: whether streams to this server may carry another protocol; true as long as nobody knows.
  func mayChangeProtocol(_ key: ConnectionKey) -> Bool {
    mayMultiplex(key) && !http1Servers.contains(key) && !plainHTTP2Servers.contains(key)
  }

  mutating func noteProtocolChange(_ key: ConnectionKey, isOffered: Bool) {
    guard !isOffered else {
      plainHTTP2Servers.remove(key)
      return
    }
    if plainHTTP2Servers.count >= Self.rememberedServers { plainHTTP2Servers = [] }
    plainHTTP2Servers.insert(key)
  }

  // MARK: Streams

  /// A stream on a connection that has room for one. Whoever waits has the first claim on it.
  mutating func leaseStream(_ key: ConnectionKey) -> ConnectionID? {
    guard let index = hosts[key]?.multiplexed.firstIndex(where: \.hasRoom) else { return nil }
    hosts[key]?.multiplexed[index].streams += 1
    return hosts[key]?.multiplexed[index].id
  }

  /// Gives a stream to the waiter in front. Call until it has nothing to do.
  mutating func serveNext(_ key: ConnectionKey) -> Action {
    guard let host = hosts[key], let index = host.multiplexed.firstIndex(where: \.hasRoom),
      let waiter = hosts[key]?.popWaiter()
    else { return .nothing }
    hosts[key]?.multiplexed[index].streams += 1
    return .lease(host.multiplexed[index].id, waiter)
  }

  /// A connection turned out to speak HTTP/2. One that is not needed beside another is closed.
  mutating func connectedMultiplexed(
    _ id: ConnectionID, key: ConnectionKey, limit: Int, expiry: NIODeadline
  ) -> Action {
    guard hosts[key]?.removeConnecting(id) != nil else { return .close(id, thenConnect: nil, key) }
    http1Servers.remove(key)
    hosts[key]?.probeFailed = false
    guard hosts[key]?.multiplexed.contains(where: { !$0.isDraining }) != true else {
      defer { forgetIfEmpty(key) }
      let next = connectInFreedPlace(key)
      return .close(id, thenConnect: next?.id, next?.key ?? key)
    }
    hosts[key]?.multiplexed.append(Multiplexed(id: id, limit: limit, expiry: expiry))
    mayExpire(at: expiry)
    return serveNext(key)
  }

  /// An exchange ended, whatever became of its stream.
  mutating func streamEnded(_ id: ConnectionID, key: ConnectionKey, expiry: NIODeadline) -> Action {
    guard let index = index(of: id, key) else { return .nothing }
    hosts[key]?.multiplexed[index].streams -= 1
    hosts[key]?.multiplexed[index].expiry = expiry
    mayExpire(at: expiry)
    guard let connection = hosts[key]?.multiplexed[index], connection.streams <= 0 else { return serveNext(key) }
    if !connection.isDraining {
      let action = serveNext(key)
      guard action == .nothing, mustGiveWay(key) else { return action }
    }
    return removeMultiplexed(at: index, key, thenClose: true)
  }

  mutating func streamLimitChanged(_ id: ConnectionID, key: ConnectionKey, limit: Int) {
    guard let index = index(of: id, key) else { return }
    hosts[key]?.multiplexed[index].limit = limit
  }

  /// The connection takes no further streams: those who wait need another one.
  mutating func draining(_ id: ConnectionID, key: ConnectionKey) -> Action {
    guard let index = index(of: id, key) else { return .nothing }
    hosts[key]?.multiplexed[index].isDraining = true
    guard let connection = hosts[key]?.multiplexed[index], connection.streams > 0 else {
      return removeMultiplexed(at: index, key, thenClose: true)
    }
    return connectInFreedPlace(key).map { .connect($0.id, $0.key) } ?? .nothing
  }

  mutating func multiplexedClosed(_ id: ConnectionID, key: ConnectionKey) -> Action {
    guard let index = index(of: id, key) else { return .nothing }
    return removeMultiplexed(at: index, key, thenClose: false)
  }

  private mutating func removeMultiplexed(at index: Int, _ key: ConnectionKey, thenClose: Bool) -> Action {
    guard let connection = hosts[key]?.multiplexed.remove(at: index) else { return .nothing }
    defer { forgetIfEmpty(key) }
    let next = connectInFreedPlace(key)
    guard thenClose else { return next.map { .connect($0.id, $0.key) } ?? .nothing }
    return .close(connection.id, thenConnect: next?.id, next?.key ?? key)
  }

  private func index(of id: ConnectionID, _ key: ConnectionKey) -> Int? {
    hosts[key]?.multiplexed.firstIndex { $0.id == id }
  }

  // MARK: Time and the end

  /// Takes out the connections without streams whose time has passed.
  mutating func expireMultiplexed(
    _ key: ConnectionKey, at now: NIODeadline, wake: inout NIODeadline?
  ) -> [ConnectionID] {
    let unused = hosts[key]?.multiplexed.filter { $0.streams == 0 } ?? []
    for connection in unused where connection.expiry > now {
      wake = min(wake ?? connection.expiry, connection.expiry)
    }
    let due = unused.filter { $0.expiry <= now }.map(\.id)
    if !due.isEmpty { hosts[key]?.multiplexed.removeAll { due.contains($0.id) } }
    return due
  }

  /// No connection takes a further stream. Returns those that have none, which are forgotten.
  mutating func drainMultiplexed(_ key: ConnectionKey) -> [ConnectionID] {
    guard let all = hosts[key]?.multiplexed, !all.isEmpty else { return [] }
    hosts[key]?.multiplexed = all.filter { $0.streams > 0 }.map {
      var connection = $0
      connection.isDraining = true
      return connection
    }
    return all.filter { $0.streams == 0 }.map(\.id)
  }
}

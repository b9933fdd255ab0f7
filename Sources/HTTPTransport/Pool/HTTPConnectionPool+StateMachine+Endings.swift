import NIOCore

/// Reservations, and how connections leave the pool.
extension HTTPConnectionPool.StateMachine {
  // MARK: Reservations

  /// Keeps a connection, on which one request is under way, for the conversation of that request: when the request is
  /// over, only `leaseReserved` gets the connection.
  /// - Returns: Whether it is reserved now. Not when it serves others too, or takes no further request.
  mutating func reserve(_ id: ConnectionID) -> Bool {
    guard let connection = connections[id], connection.phase == .open, connection.inUse == 1, !connection.isDraining,
      !connection.isReserved
    else { return false }
    connections[id]?.isReserved = true
    groups[connection.group]?.available.removeAll { $0 == id }
    return true
  }

  /// The next request of the conversation.
  /// - Returns: Whether the connection is still there, and not in use.
  mutating func leaseReserved(_ id: ConnectionID) -> Bool {
    guard let connection = connections[id], connection.isReserved, connection.inUse == 0 else { return false }
    connections[id]?.inUse = 1
    return true
  }

  /// The conversation is over. From now on the connection serves the requests of `identity` and no others; nil leaves it
  /// where it was.
  mutating func endReservation(_ id: ConnectionID, as identity: ConnectionIdentity?, at now: NIODeadline) {
    self.now = now
    guard let connection = connections[id], connection.isReserved else { return }
    connections[id]?.isReserved = false
    guard !connection.isDraining else { return connection.inUse == 0 ? close(id) : () }
    if let identity { move(id, to: identity) }
    if let group = connections[id]?.group { hasRoomAgain(id, group) }
  }

  private mutating func move(_ id: ConnectionID, to identity: ConnectionIdentity) {
    guard let connection = connections[id], var key = groups[connection.group]?.key, key.identity != identity else {
      return
    }
    key.identity = identity
    let group = group(of: key)
    connections[id]?.group = group
    groups[connection.group]?.open -= 1
    groups[group]?.open += 1
    if connection.isMultiplexed {
      groups[connection.group]?.multiplexed -= 1
      groups[group]?.multiplexed += 1
    }
    if groups[connection.group]?.tentative.contains(id) == true {
      groups[connection.group]?.tentative.removeAll { $0 == id }
      groups[group]?.tentative.append(id)
    }
    connectWhereNeeded(connection.group)
    forgetIfEmpty(connection.group)
  }

  // MARK: Endings

  /// The connection takes no further request: those who wait need another one.
  mutating func draining(_ id: ConnectionID, at now: NIODeadline) {
    self.now = now
    guard let connection = connections[id], connection.phase == .open, !connection.isDraining else { return }
    retire(id)
    connectWhereNeeded(connection.group)
    forgetIfEmpty(connection.group)
  }

  /// The connection is gone, whatever it was doing.
  mutating func closed(_ id: ConnectionID, at now: NIODeadline) {
    self.now = now
    guard let connection = connections[id], connection.phase == .open else { return }
    remove(id)
    connectWhereNeeded(connection.group)
    forgetIfEmpty(connection.group)
  }

  /// Lets a connection serve no further request, and closes it when it serves none now.
  mutating func retire(_ id: ConnectionID) {
    guard let connection = connections[id], connection.phase == .open, !connection.isDraining else { return }
    guard !connection.isUnused else { return close(id) }
    groups[connection.group]?.available.removeAll { $0 == id }
    connections[id]?.isDraining = true
    guard connection.isMultiplexed else { return }
    groups[connection.group]?.multiplexed -= 1
    groups[connection.group]?.tentative.removeAll { $0 == id }
    if let host = groups[connection.group]?.host { hosts[host]?.counted -= 1 }
  }

  /// Closes a connection, and begins what may take its place.
  mutating func close(_ id: ConnectionID) {
    guard let group = connections[id]?.group else { return }
    remove(id)
    act(.close(id))
    connectWhereNeeded(group)
    forgetIfEmpty(group)
  }

  /// Takes an open connection out. The caller forgets its group when that is empty.
  mutating func remove(_ id: ConnectionID) {
    guard let connection = connections.remove(id), let group = groups[connection.group] else { return }
    guard connection.phase == .open else { return }
    groups[connection.group]?.available.removeAll { $0 == id }
    groups[connection.group]?.tentative.removeAll { $0 == id }
    groups[connection.group]?.open -= 1
    if connection.isMultiplexed, !connection.isDraining { groups[connection.group]?.multiplexed -= 1 }
    if connection.counts { hosts[group.host]?.counted -= 1 }
    // The last one that served: what failed before is tried again now.
    if groups[connection.group]?.open == 0 { groups[connection.group]?.connectsAgain = nil }
  }
}

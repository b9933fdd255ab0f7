/// Requests that are written behind those under way (RFC 9112 §9.3.2).
extension HTTPConnectionPool.StateMachine {
  /// The connections on which a request of `key` may follow others: none while a further connection may be made for it, and
  /// none while a request waits for one of the host's, since a connection that is followed again and again has never room.
  /// Neither those that one conversation has for itself, nor those that are closed after their last request.
  func connectionsToFollow(for key: ConnectionKey) -> [ConnectionID] {
    guard isFull(key), let id = groupIDs[key], let group = groups[id], let host = hosts[group.host],
      host.groups.allSatisfy({ groups[$0]?.waiters.isEmpty != false })
    else { return [] }
    return connections.ids.filter { connections[$0]?.group == id && connections[$0]?.takesRequests == true }
  }
}

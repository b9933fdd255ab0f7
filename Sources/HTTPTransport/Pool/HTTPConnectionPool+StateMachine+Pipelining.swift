/// Requests that are written behind those under way (RFC 9112 §9.3.2).
extension HTTPConnectionPool.StateMachine {
  /// The connections on which a request of `key` may follow others: none while a further connection may be made for it.
  /// Neither those that one conversation has for itself, nor those that are closed after their last request.
  func connectionsToFollow(for key: ConnectionKey) -> [ConnectionID] {
    guard isFull(key), let id = groupIDs[key] else { return [] }
    return connections.ids.filter { connections[$0]?.group == id && connections[$0]?.takesRequests == true }
  }
}

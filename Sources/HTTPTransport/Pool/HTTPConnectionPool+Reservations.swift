/// Connections that one conversation has for itself.
extension HTTPConnectionPool {
  /// Keeps the connection for the conversation of the one exchange on it; nil when it can't be had alone.
  func reserve(_ connection: any PooledConnection) -> ConnectionReservation? {
    assertOnLoop()
    guard state.reserve(connection.id) else { return nil }
    return ConnectionReservation(pool: self, id: connection.id)
  }

  /// The next exchange on a reserved connection; nil when it is gone.
  func reservedExchange(_ id: ConnectionID) -> (any HTTPExchange)? {
    assertOnLoop()
    guard state.leaseReserved(id) else { return nil }
    if let connection = connection(id), connection.isUsable { return connection.startExchange() }
    discard(id)
    return nil
  }

  func endReservation(_ id: ConnectionID, as identity: ConnectionIdentity?) {
    assertOnLoop()
    state.endReservation(id, as: identity, at: .now())
    perform()
    scheduleDueWork()
  }
}

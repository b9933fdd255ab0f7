/// Why there is no connection, and how far it got.
struct ConnectFailure: Error {
  let cause: any Error
  let record: ConnectionRecord

  /// Whether a request may better wait for a connection that lives than fail: the machine has no descriptor left, or the
  /// server takes no further connection, for now. A failure that says something about trust, credentials or networks is
  /// told at once.
  var mayBeOvercomeByWaiting: Bool {
    switch cause {
    case TransportError.cannotConnect, TransportError.hostNotFound, TransportError.closedBeforeResponse: true
    default: false
    }
  }
}

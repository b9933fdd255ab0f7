import TransferProtocol

/// Makes connections to the transfer service.
protocol TransferConnecting: Sendable {
  /// - Parameters:
  ///   - onPush: called for each push, in order.
  ///   - onClose: called once, when the connection has ended, after every request of it has failed.
  func open(
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> any TransferConnection
}

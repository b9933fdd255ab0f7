import TransferProtocol

/// Connects to the service of this user, which is started where none runs.
struct ServiceConnector: TransferConnecting {
  func open(
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> any TransferConnection {
    try await ServiceConnection.open(onPush: onPush, onClose: onClose)
  }
}

extension ServiceConnection: TransferConnection {}

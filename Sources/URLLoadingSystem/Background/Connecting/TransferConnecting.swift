import NIOCore
import TransferProtocol

/// Makes connections to the transfer service.
protocol TransferConnecting: Sendable {
  /// - Parameters:
  ///   - onPush: called for each push, in order.
  ///   - onClose: called once, when the connection has ended, after every request of it has failed.
  func open(
    onPush: @escaping @Sendable (ServicePush) -> Void, onClose: @escaping @Sendable () -> Void
  ) async throws -> any TransferConnection

  /// How long the service may take for each answer before the session is of use.
  var patience: TimeAmount { get }

  /// How often a service that should be there is looked for until new tasks fail.
  var tries: Int { get }
}

extension TransferConnecting {
  var patience: TimeAmount { ServiceConnection.patience }
  var tries: Int { ServiceLink.usualTries }
}

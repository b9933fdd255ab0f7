import Foundation
import Logging
import ServiceLifecycle
import SystemServices
import TransferService

/// Starts the service where another one may run already.
///
/// Two apps can start it at the same moment, and a service that ends still has its locks for a while. A process that
/// finds the locks taken ends when the socket accepts connections, and tries again for a while when it does not.
enum ServiceStart {
  private static let patience: TimeInterval = 15

  /// nil when another one serves already, or a shutdown was asked for meanwhile.
  static func start(_ configuration: TransferDaemon.Configuration, log: Logger) async throws -> TransferDaemon? {
    let clock = SystemClock()
    let deadline = clock.now + patience
    while true {
      do {
        return try await TransferDaemon.start(configuration)
      } catch let error as TransferDaemon.AlreadyRunning {
        if configuration.adoptedSocket == nil, isAnswered(configuration) {
          log.notice("not needed: \(error)")
          return nil
        }
        guard clock.now < deadline else { throw error }
        if Task.isShuttingDownGracefully { return nil }
        // Tried again instead of waiting in flock(2), where the socket could not be looked at meanwhile.
        try await Pause.wait(.milliseconds(50))
      }
    }
  }

  private static func isAnswered(_ configuration: TransferDaemon.Configuration) -> Bool {
    UnixListener.isAnswered(configuration.socketPath)
      || UnixListener.isAnswered(TransferDaemon.socketPath(stateDirectory: configuration.stateDirectory))
  }
}

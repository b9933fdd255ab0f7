import Foundation
import Logging
import ServiceLifecycle
import SystemServices
import TransferService

/// Starts the service where another one may run already.
///
/// Two apps can start it at the same moment, and a service that ends still has its locks for a while. A process that
/// finds the locks taken ends when the socket accepts connections, and tries again for a while when it does not. One that has a
/// supervisor replaces a worker that has none and hangs.
enum ServiceStart {
  private static let patience: TimeInterval = 15
  /// Seconds for which one process waits for a folder that is gone, or for a storage that can't be used. The supervisor, or the
  /// service manager, takes it for one that hangs when it does not serve for long, and starts the next one at once after a life of 30
  /// seconds.
  private static let patienceWithStorage: TimeInterval = 60

  /// nil when another one serves already, or a shutdown was asked for meanwhile.
  ///
  /// - Parameter isSupervised: whether this process has a supervisor.
  static func start(
    _ configuration: TransferDaemon.Configuration, isSupervised: Bool, log: Logger
  ) async throws -> TransferDaemon? {
    let clock = SystemClock()
    let storageDeadline = clock.now + patienceWithStorage
    guard try await waitForFolder(configuration, until: storageDeadline, clock, log: log) else { return nil }
    var deadline = clock.now + patience
    var isReplacing = false
    while true {
      do {
        return try await TransferDaemon.start(configuration) { pause in
          guard clock.now + pause < storageDeadline else { return false }
          await cancelWhenGracefulShutdown { try? await Pause.wait(.seconds(pause)) }
          return !Task.isShuttingDownGracefully
        }
      } catch is TransferDaemon.StorageUnavailable where Task.isShuttingDownGracefully {
        return nil
      } catch let error as TransferDaemon.AlreadyRunning {
        // The remains of one that was ended accept connections until they are gone.
        if configuration.adoptedSocket == nil, !isReplacing, isAnswered(configuration) {
          isReplacing = isSupervised ? try await endHangingWorker(configuration, log: log) : false
          guard isReplacing else {
            log.notice("not needed: \(error)")
            return nil
          }
          deadline = clock.now + patience
        }
        guard clock.now < deadline else { throw error }
        if Task.isShuttingDownGracefully { return nil }
        // Tried again instead of waiting in flock(2), where the socket could not be looked at meanwhile.
        try await Pause.wait(.milliseconds(50))
      }
    }
  }

  /// Waits where the service before had a queue, and its folder is gone. False when a shutdown was asked for meanwhile.
  private static func waitForFolder(
    _ configuration: TransferDaemon.Configuration, until deadline: BootInstant, _ clock: SystemClock, log: Logger
  ) async throws -> Bool {
    var isLogged = false
    while configuration.mark.remainingWait() != nil {
      let fault = QueueIsAway(stateFolder: configuration.stateDirectory)
      guard clock.now < deadline else { throw fault }
      if !isLogged { log.error("\(fault)") }
      isLogged = true
      if Task.isShuttingDownGracefully { return false }
      try await Pause.wait(.milliseconds(500))
    }
    if isLogged { log.notice("the folder of the queue is there again, or is not waited for any more") }
    return true
  }

  /// Returns whether the service that has the locks was one that hangs, and no supervisor looks after it.
  private static func endHangingWorker(
    _ configuration: TransferDaemon.Configuration, log: Logger
  ) async throws -> Bool {
    guard let worker = OrphanedWorker(configuration) else { return false }
    do {
      return try await cancelWhenGracefulShutdown { try await worker.endIfItHangs(log: log) }
    } catch is CancellationError { return false }
  }

  private static func isAnswered(_ configuration: TransferDaemon.Configuration) -> Bool {
    UnixListener.isAnswered(configuration.socketPath)
      || UnixListener.isAnswered(TransferDaemon.socketPath(stateDirectory: configuration.stateDirectory))
  }
}

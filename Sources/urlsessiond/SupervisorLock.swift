import Foundation
import Logging
import SystemServices
import TransferService

/// Makes sure that one service has one supervisor, however many apps start one.
struct SupervisorLock {
  /// A process that tries to start a supervisor opens it.
  let path: String
  private let sockets: [String]

  /// How long to wait for the lock: the supervisor that has it may be about to end.
  private static let patience: TimeInterval = 15

  /// Beside the socket, or in the state folder where the socket's folder can't be made. Looks at files.
  init(socket: String, state: String) throws {
    let second = TransferDaemon.socketPath(stateDirectory: state)
    sockets = [socket, second]
    do {
      try PrivateDirectory.ensure((socket as NSString).deletingLastPathComponent)
      path = socket + ".supervisor"
    } catch is SystemError {
      try PrivateDirectory.ensure(state)
      path = second + ".supervisor"
    }
  }

  /// nil when another supervisor is at work and stays.
  func acquire(log: Logger) async throws -> FileLock? {
    let clock = SystemClock()
    let deadline = clock.now + SupervisorLock.patience
    while true {
      if let lock = try FileLock.acquire(path) { return lock }
      if sockets.contains(where: UnixListener.isAnswered) || clock.now >= deadline {
        log.notice("not needed: another supervisor has the lock \(path)")
        return nil
      }
      // Tried again instead of waiting in flock(2), see `ServiceStart`.
      try await Pause.wait(.milliseconds(50))
    }
  }
}

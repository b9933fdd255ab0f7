import Foundation
import Logging
import SystemServices
import TransferService

/// Makes sure that one service has one supervisor, however many apps start one.
struct SupervisorLock {
  /// The lock as it was taken.
  struct Held {
    let lock: FileLock
    /// A process that tries to start a supervisor opens it.
    let path: String
  }

  private let state: String
  private let socket: String
  private var second: String { TransferDaemon.socketPath(stateDirectory: state) }

  /// How long to wait for the lock: the supervisor that has it may be about to end.
  private static let patience: TimeInterval = 15

  init(socket: String, state: String) {
    self.socket = socket
    self.state = state
  }

  /// nil when another supervisor is at work and stays.
  func acquire(log: Logger) async throws -> Held? {
    let clock = SystemClock()
    let deadline = clock.now + SupervisorLock.patience
    while true {
      let (lock, path) = try take()
      if let lock { return Held(lock: lock, path: path) }
      if [socket, second].contains(where: UnixListener.isAnswered) || clock.now >= deadline {
        log.notice("not needed: another supervisor has the lock \(path)")
        return nil
      }
      // Tried again instead of waiting in flock(2), see `ServiceStart`.
      try await Pause.wait(.milliseconds(50))
    }
  }

  /// Beside the socket, or in the state folder where the socket's folder can't be made or takes no file, as the worker does without a
  /// socket there. No lock when another supervisor has it. Looks at files.
  private func take() throws -> (lock: FileLock?, path: String) {
    do { return try take(beside: socket) } catch is SystemError { return try take(beside: second) }
  }

  private func take(beside socket: String) throws -> (lock: FileLock?, path: String) {
    try PrivateDirectory.ensure((socket as NSString).deletingLastPathComponent)
    let path = socket + ".supervisor"
    return (try FileLock.acquire(path), path)
  }
}

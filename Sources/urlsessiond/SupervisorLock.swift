import Foundation
import Logging
import SystemServices

/// Makes sure that one service has one supervisor, however many apps start one.
enum SupervisorLock {
  /// How long to wait for the lock: the supervisor that has it may be about to end.
  private static let patience: TimeInterval = 15

  /// A process that tries to start a supervisor opens it.
  static func path(socket: String) -> String { socket + ".supervisor" }

  /// nil when another supervisor is at work and stays.
  static func acquire(socket: String, log: Logger) async throws -> FileLock? {
    try PrivateDirectory.ensure((socket as NSString).deletingLastPathComponent)
    let clock = SystemClock()
    let deadline = clock.now + patience
    while true {
      if let lock = try FileLock.acquire(path(socket: socket)) { return lock }
      if UnixListener.isAnswered(socket) || clock.now >= deadline {
        log.notice("not needed: another supervisor looks after \(socket)")
        return nil
      }
      // Tried again instead of waiting in flock(2), see `ServiceStart`.
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}

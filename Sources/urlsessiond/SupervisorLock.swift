import Foundation
import Logging
import SystemServices

/// One service has one supervisor, however many apps ask for a service that does not come up.
enum SupervisorLock {
  /// How long one waits that may be needed: the supervisor before it may be about to end.
  private static let patience: TimeInterval = 15

  /// nil when another supervisor is at work and stays.
  static func acquire(socket: String, log: Logger) async throws -> FileLock? {
    try PrivateDirectory.ensure((socket as NSString).deletingLastPathComponent)
    let clock = SystemClock()
    let deadline = clock.now + patience
    while true {
      if let lock = try FileLock.acquire(socket + ".supervisor") { return lock }
      if UnixSocket.isAnswered(socket) || clock.now >= deadline {
        log.notice("not needed: another supervisor looks after \(socket)")
        return nil
      }
      // Its end can't be waited for without standing in the way of others.
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}

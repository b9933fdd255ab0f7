import CLinux
import Foundation

/// A lock that one process at a time has, for as long as it lives. The kernel gives it back when the process dies.
package final class FileLock: Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// nil when another process (or another `FileLock` of this one) has it.
  package static func acquire(_ path: String) throws -> FileLock? {
    let descriptor = try checked("open", path: path) {
      Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    do {
      _ = try checked("flock", path: path) { clinux_lock(descriptor, 1) }
      return FileLock(descriptor: descriptor)
    } catch let error as SystemError where error.code == EWOULDBLOCK {
      _ = close(descriptor)
      return nil
    } catch {
      _ = close(descriptor)
      throw error
    }
  }

  /// Waits until no other process has the lock. The kernel's own wait has no time limit, so the lock is tried again and
  /// again. Blocks the thread.
  /// - Throws: `BlockingCalls.Expired` past the limit.
  package static func acquire(_ path: String, within limit: Duration) throws -> FileLock {
    let end = ContinuousClock.now + limit
    while true {
      if let lock = try acquire(path) { return lock }
      guard ContinuousClock.now < end else { throw BlockingCalls.Expired(limit: limit) }
      usleep(2_000)
    }
  }

  /// Whether the file of that name is the one that is locked. It is not when the file was removed or replaced since; a
  /// lock of that name then says nothing to other processes.
  package func isHeld(as path: String) -> Bool {
    guard let own = FileIdentity(descriptor: descriptor) else { return false }
    return FileIdentity(path: path) == own
  }

  deinit { _ = close(descriptor) }
}

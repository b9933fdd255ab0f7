import Foundation
import Synchronization

/// A number in a file that several processes read and count up. A process counts it up when it has changed something
/// that the others keep a copy of.
///
/// It is read and written by system calls, since a page of memory that another process cuts off would end this one
/// (SIGBUS). To read it costs two calls that touch no disk.
package final class SharedCounter: Sendable {
  /// One counting: the number before it, 0 in a file that begins, and the number after it.
  package struct Count: Equatable, Sendable {
    package let old: UInt64
    package let new: UInt64

    /// The number that a process has seen which had seen `seen` and then has counted itself. Where another process has
    /// counted meanwhile, its change is still to be seen.
    package func following(_ seen: UInt64) -> UInt64 { old == seen ? new : seen }
  }

  private let descriptor: Int32
  private let path: String
  /// For the threads of this process: the file's lock is the descriptor's, which they share.
  private let turn = Mutex(())

  /// Opens the file, or makes it with mode 0600.
  package init(path: String) throws {
    self.path = path
    descriptor = try checked("open", path: path) {
      Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
  }

  deinit { _ = close(descriptor) }

  /// The number; nil when the file was removed, so that other processes count in another one. 0 when the file was
  /// emptied.
  package var value: UInt64? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { return nil }
    return number ?? 0
  }

  /// Counts up by one. A file that is new or was emptied begins at a random number, so that no process takes it for one
  /// that it has seen.
  @discardableResult
  package func increment() throws -> Count {
    try turn.withLock { _ in
      try lock()
      defer { _ = flock(descriptor, LOCK_UN) }
      let old = number
      var new = old.map { $0 &+ 1 } ?? UInt64.random(in: 1...UInt64.max / 2)
      _ = try checked("pwrite", path: path) { pwrite(descriptor, &new, MemoryLayout<UInt64>.size, 0) }
      return Count(old: old ?? 0, new: new)
    }
  }

  /// nil when the file is shorter. Bytes of two numbers, which the kernel does not rule out, make a third one: the
  /// reader takes that for a change and reads again.
  private var number: UInt64? {
    var number: UInt64 = 0
    let size = MemoryLayout<UInt64>.size
    return pread(descriptor, &number, size, 0) == size ? number : nil
  }

  /// Processes have the lock for the time of two system calls, so a process that does not give it back in a second was
  /// stopped.
  private func lock() throws {
    for _ in 0..<1_000 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { throw SystemError(code, "flock", path: path) }
      usleep(1_000)
    }
    throw SystemError(EWOULDBLOCK, "flock", path: path)
  }
}

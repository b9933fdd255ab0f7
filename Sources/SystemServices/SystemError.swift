import Foundation

/// A system call that failed: which one, on what, and why.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  package var code: Int32
  package var operation: String
  package var path: String?

  package init(_ code: Int32, _ operation: String, path: String? = nil) {
    self.code = code
    self.operation = operation
    self.path = path
  }

  package var description: String {
    let reason = String(cString: strerror(code))
    return if let path { "\(operation) \(path): \(reason)" } else { "\(operation): \(reason)" }
  }

  /// Whether the disk, or this user's share of it, is full.
  package var isNoSpace: Bool { code == ENOSPC || code == EDQUOT }
  /// Whether the same call may well succeed a little later: too many open files, no memory, an interruption.
  package var isTransient: Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR].contains(code) }
  /// Whether the disk, the file system or a folder can't be used as it is now, which may pass: it is gone, read-only, broken,
  /// full, locked, or closed to this user.
  package var isStorageFault: Bool {
    isNoSpace || Self.storageFaults.contains(code)
  }
  private static let storageFaults: Set<Int32> = [
    EIO, EROFS, EACCES, EPERM, ENOENT, ENOTDIR, ESTALE, ENODEV, ENXIO,
    // The key of an encrypted home is not there, and a file system that finds itself damaged.
    ENOKEY, EUCLEAN, EBADMSG,
    // A file system over the network, or of a process, that has gone.
    ENOTCONN, ETIMEDOUT, ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, EREMOTEIO, ESHUTDOWN,
  ]
  package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }
}

/// Runs a system call that answers -1 on failure, again when a signal interrupted it.
func checked<Result: SignedInteger>(
  _ operation: @autoclosure () -> String, path: @autoclosure () -> String? = nil, _ call: () -> Result
) throws -> Result {
  while true {
    let result = call()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw SystemError(code, operation(), path: path()) }
  }
}

import Foundation
import Glibc

/// The file of an earlier download that did not come to its end.
enum PartialFile {
  /// Opens and locks a regular file of `size` bytes, to go on with it. Blocks.
  ///
  /// - Parameter isOurs: whether the file is one of this library's own; such a file belongs to this user, has no second
  ///   name, and is not reached through a symbolic link. A file that the app has named may be any of that.
  /// - Returns: the descriptor, which holds the lock until it is closed.
  /// - Throws: `URLError.cannotOpenFile`, also where another download has the file open.
  static func open(_ path: String, size: Int64, isOurs: Bool) throws -> CInt {
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | (isOurs ? O_NOFOLLOW : 0))
    guard descriptor >= 0 else { throw failure(path, "can't be opened (\(String(cString: strerror(errno))))") }
    var status = stat()
    var problem: String?
    if fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      problem = "is no regular file"
    } else if isOurs, status.st_uid != getuid() || status.st_nlink != 1 {
      problem = "belongs to another user or has a second name"
    } else if Int64(status.st_size) != size {
      problem = "has \(status.st_size) bytes instead of \(size)"
    } else if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      problem = "is being written by another download"
    }
    if let problem {
      close(descriptor)
      throw failure(path, problem)
    }
    return descriptor
  }

  static func failure(_ path: String, _ what: String) -> URLError {
    ErrorMapping.make(.cannotOpenFile, because: "The download can't be resumed: its partial file \(path) \(what).")
  }
}

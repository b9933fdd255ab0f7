import CLinux
import Foundation

/// A read lease of a file (F_SETLEASE): a process that opens the file for writing, or cuts it, waits until the lease is given
/// back, at most the seconds in `/proc/sys/fs/lease-break-time`. Readers do not wait. Given back with its last owner.
package final class FileLease: Sendable {
  package let file: SourceFile

  private init(of file: SourceFile) { self.file = file }

  /// nil where it is refused: the file is open for writing, or belongs to another user, or its file system has no leases.
  ///
  /// - Parameter thread: the thread that gets SIGIO when a process waits. It has to block that signal: it ends processes.
  package static func take(_ file: SourceFile, telling thread: pid_t) -> FileLease? {
    clinux_take_lease(file.descriptor, thread) == 0 ? FileLease(of: file) : nil
  }

  /// Whether no process waits for its end, nor has waited until the kernel ended it.
  package var isWhole: Bool { clinux_has_lease(file.descriptor) != 0 }

  /// Lets those that wait go on.
  package func release() { _ = clinux_end_lease(file.descriptor) }

  // A child that is about to be another program may have the open file, too, whose lease would last as long.
  deinit { release() }
}

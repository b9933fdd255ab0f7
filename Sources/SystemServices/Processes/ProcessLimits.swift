import CLinux
import Foundation

/// Limits that a service has whichever process starts it.
package enum ProcessLimits {
  /// A usual soft limit of open files: select(2) can't take more, and some programs close all up to it.
  private static let usualFiles: UInt32 = 1024

  /// Lets this process open as many files, write as large ones, compute as long and take as much memory as its hard limits
  /// say, makes a file that gets larger than allowed an error and not the end, lets it read what it makes itself, and takes
  /// back the niceness of the process that started it where the system allows that.
  package static func own() {
    _ = clinux_raise_limits()
    signal(SIGXFSZ, SIG_IGN)
    umask(umask(0o077) & 0o077)
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 0)
  }

  /// Gives a process that this one has just started the usual soft limit of open files.
  package static func reset(for pid: pid_t) { _ = clinux_limit_open_files(pid, usualFiles) }
}

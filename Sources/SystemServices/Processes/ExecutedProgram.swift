import Foundation

/// The program that a process runs, and whether an update has put another one at its path since.
package struct ExecutedProgram: Sendable, Equatable {
  package let path: String
  /// The file in proc(5) that leads to the one that runs, whatever its present name.
  private let link: String

  /// nil where the kernel does not say which program the process runs.
  package init?(ofProcess pid: pid_t = getpid()) {
    link = "/proc/\(pid)/exe"
    guard let text = try? FileManager.default.destinationOfSymbolicLink(atPath: link), text.hasPrefix("/") else {
      return nil
    }
    let mark = " (deleted)"
    // A program may have such a name, so the mark counts only where that is no file.
    path = text.hasSuffix(mark) && access(text, F_OK) != 0 ? String(text.dropLast(mark.count)) : text
  }

  /// Whether another program is at the path, which only the system or this user can have put there. Looks at the disk.
  package var isReplaced: Bool {
    var (running, present) = (stat(), stat())
    // The number of a file that runs is not given to another one.
    guard stat(link, &running) == 0, stat(path, &present) == 0 else { return false }
    return (running.st_dev != present.st_dev || running.st_ino != present.st_ino) && TrustedProgram.isTrusted(path)
  }
}

import CLinux
import Foundation

/// A process of this user that runs a certain program, and the locks that it has.
///
/// All of it is what the kernel says in proc(5). A process that this one may not look at, such as one in another container, is none.
package struct ProgramProcess: Sendable, Equatable {
  package let identity: ProcessIdentity
}

extension ProgramProcess {
  /// nil where there is no such process. A program that an update has replaced since its start is the same one.
  package init?(_ pid: pid_t, running program: String) {
    guard let identity = ProcessIdentity(pid: pid), ExecutedProgram(ofProcess: pid)?.path == program else { return nil }
    var status = stat()
    guard stat("/proc/\(pid)", &status) == 0, status.st_uid == geteuid(), identity.isAlive else { return nil }
    self.init(identity: identity)
  }

  package static func all(running program: String) -> [ProgramProcess] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.compactMap { ProgramProcess($0, running: program) }
  }

  /// Those that it was started with, without the name of the program. Empty when it has ended.
  package var arguments: [String] {
    guard let file = FileHandle(forReadingAtPath: "/proc/\(identity.pid)/cmdline") else { return [] }
    defer { try? file.close() }
    let bytes = (try? file.readToEnd()) ?? Data()
    return bytes.split(separator: 0).dropFirst().map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether it has the `FileLock` of the file that has this name now. Looks at the disk.
  package func hasLock(_ path: String) -> Bool {
    guard let file = FileIdentity(path: path) else { return false }
    let folder = "/proc/\(identity.pid)/fdinfo"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return descriptors.contains { descriptor in
      // A file that is open without the lock is that of a process that tries to take it. Files that are not locked are not looked at:
      // their disks may not answer.
      guard let text = try? String(contentsOfFile: "\(folder)/\(descriptor)", encoding: .utf8),
        ProgramProcess.isLocked(descriptor: text)
      else { return false }
      return FileIdentity(descriptor: descriptor, of: identity.pid) == file
    }
  }

  /// proc(5): `lock:  1: FLOCK  ADVISORY  WRITE 708 08:01:13548 0 EOF`, among other lines.
  static func isLocked(descriptor text: String) -> Bool {
    text.split(separator: "\n").contains { line in
      let fields = line.split { $0 == " " || $0 == "\t" }
      return fields.count > 4 && fields[0] == "lock:" && fields[2] == "FLOCK" && fields[4] == "WRITE"
    }
  }

  /// Ends it with SIGKILL, if it still has the lock. Another process that has its number by now is not touched.
  ///
  /// - Returns: whether it was ended.
  package func end(holding lock: String) -> Bool {
    let descriptor = clinux_open_process(identity.pid)
    defer { if descriptor >= 0 { close(descriptor) } }
    // Looked at only now: the descriptor is that of the process that is looked at.
    guard hasLock(lock), identity.isAlive else { return false }
    if descriptor >= 0, clinux_signal_process(descriptor, SIGKILL) == 0 { return true }
    // Before Linux 5.3 there is none.
    return kill(identity.pid, SIGKILL) == 0
  }
}

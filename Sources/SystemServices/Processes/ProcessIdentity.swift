import Foundation

/// A process, told apart from a later one that got the same number by the time it started.
package struct ProcessIdentity: Codable, Sendable, Hashable {
  package var pid: pid_t
  /// In clock ticks since the machine started.
  package var startTime: UInt64

  package init(pid: pid_t, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// The process that has this number now; nil when there is none, or only the remains of one.
  package init?(pid: pid_t) {
    guard let status = ProcessIdentity.status(of: pid), status.state != "Z", status.state != "X" else { return nil }
    self.init(pid: pid, startTime: status.startTime)
  }

  package var isAlive: Bool { ProcessIdentity(pid: pid) == self }

  private static func status(of pid: pid_t) -> (state: Character, startTime: UInt64)? {
    guard pid > 0, let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return nil }
    return parse(stat: text)
  }

  /// proc(5): the second field is the program's name in parentheses, which may itself hold spaces and parentheses;
  /// what follows the last one is regular. Field 3 is the state, field 22 the start time.
  static func parse(stat text: String) -> (state: Character, startTime: UInt64)? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 19, let state = fields[0].first, let startTime = UInt64(fields[19]) else { return nil }
    return (state, startTime)
  }
}

/// A program on the disk: what an app is known by.
package struct ExecutableIdentity: Codable, Sendable, Hashable {
  package var path: String
  package var device: UInt64
  package var inode: UInt64
  package var owner: UInt32

  package init(path: String, device: UInt64, inode: UInt64, owner: UInt32) {
    self.path = path
    self.device = device
    self.inode = inode
    self.owner = owner
  }

  package enum Change: Error, Sendable, Equatable, CustomStringConvertible {
    case missing(String)
    case replaced(String)
    case notAProgram(String)
    case writableByOthers(String)

    package var description: String {
      switch self {
      case .missing(let path): "\(path) is gone"
      case .replaced(let path): "\(path) is not the program that asked; it has been replaced since"
      case .notAProgram(let path): "\(path) can't be executed"
      case .writableByOthers(let path): "\(path) can be changed by other users"
      }
    }
  }

  private func isTrusted(_ uid: uid_t) -> Bool { uid == 0 || uid == geteuid() }

  /// Whether only the system or this user can put files into the program's folder.
  private func isFolderOurs() -> Bool {
    var status = stat()
    guard lstat((path as NSString).deletingLastPathComponent, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && isTrusted(status.st_uid) && status.st_mode & S_IWOTH == 0
  }

  /// Throws unless the same file is still there, or one that only the system or we ourselves can have put in
  /// its place, as an update does; and unless nobody else could have written to it.
  package func checkUnchanged() throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw Change.missing(path) }
    let isSame = UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode && status.st_uid == owner
    guard isSame || isTrusted(status.st_uid) && isFolderOurs() else { throw Change.replaced(path) }
    guard status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else { throw Change.notAProgram(path) }
    // A group of one's own is the usual setting of umask 002; only a program open to everybody is refused.
    guard status.st_mode & S_IWOTH == 0 else { throw Change.writableByOthers(path) }
  }
}

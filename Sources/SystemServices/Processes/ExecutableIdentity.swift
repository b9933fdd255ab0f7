import Foundation

/// A program on the disk: the identity of an app.
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
  /// its place, as an update does. Throws also when other users could have written to it.
  package func checkUnchanged() throws {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw Change.missing(path) }
    let isSame = UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode && status.st_uid == owner
    guard isSame || isTrusted(status.st_uid) && isFolderOurs() else { throw Change.replaced(path) }
    guard status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else { throw Change.notAProgram(path) }
    // A group of one's own is the usual setting of umask 002; only a program that all users can write is refused.
    guard status.st_mode & S_IWOTH == 0 else { throw Change.writableByOthers(path) }
  }
}

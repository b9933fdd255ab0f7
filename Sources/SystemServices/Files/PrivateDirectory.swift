import Foundation

/// Folders that only this user can enter. A folder that another user made first (in `/tmp`) is refused.
package enum PrivateDirectory {
  package enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    case notADirectory(String)
    /// To follow it would be to trust its owner.
    case symbolicLink(String)
    case belongsTo(uid_t, String)
    case open(mode: mode_t, String)

    package var description: String {
      switch self {
      case .notADirectory(let path): "\(path) is no folder; move it away and try again"
      case .symbolicLink(let path): "\(path) is a symbolic link: put the folder back in its place"
      case .belongsTo(let owner, let path): "\(path) belongs to user \(owner), not to us; it can't be trusted"
      case .open(let mode, let path):
        "\(path) is open to other users (mode \(String(mode, radix: 8))); make it 0700 and try again"
      }
    }
  }

  /// Makes the folder with mode 0700, or checks that the one that is there is a real folder, ours, and closed.
  package static func ensure(_ path: String) throws {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      guard errno == ENOENT else { throw SystemError(errno, "mkdir", path: path) }
      try LinuxFileSystem().createDirectory(path)
    }
    try check(path)
  }

  /// Checks a folder that has private ones: a user who may rename in it could put others in their place. One that is missing
  /// is made later.
  package static func checkParent(_ path: String) throws {
    var status = stat()
    // Links are followed: they are below folders of the user or the system.
    guard stat(path, &status) == 0 else { return }
    // In a folder with the sticky bit, such as /tmp, only the owner of a name renames it.
    guard status.st_mode & 0o002 == 0 || status.st_mode & S_ISVTX != 0 else {
      throw Refusal.open(mode: status.st_mode & 0o7777, path)
    }
  }

  package static func check(_ path: String) throws {
    var status = stat()
    // lstat: a symbolic link is not followed, since its owner can change its target.
    _ = try checked("lstat", path: path) { lstat(path, &status) }
    try check(status, path)
  }

  static func check(_ status: stat, _ path: String) throws {
    guard status.st_mode & S_IFMT != S_IFLNK else { throw Refusal.symbolicLink(path) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw Refusal.notADirectory(path) }
    guard status.st_uid == geteuid() else { throw Refusal.belongsTo(status.st_uid, path) }
    guard status.st_mode & 0o077 == 0 else { throw Refusal.open(mode: status.st_mode & 0o7777, path) }
  }
}

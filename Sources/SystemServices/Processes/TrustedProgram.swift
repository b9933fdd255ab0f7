import Foundation

/// Whether a program that was found at one of several usual places may be started.
///
/// It has to be a regular file that belongs to the system or to this user, and no other user may have been able to write
/// it or to put it there: neither the file nor its folder is writable by all users. A sticky folder of the system (`/tmp`)
/// is accepted, since only owners can remove files there. Groups are trusted, because with a umask of 002 each user has a
/// group of their own.
package enum TrustedProgram {
  /// - Parameter path: Symbolic links are followed; what they lead to counts.
  package static func isTrusted(_ path: String) -> Bool {
    guard let resolved = realpath(path, nil) else { return false }
    defer { free(resolved) }
    let real = String(cString: resolved)
    var (file, folder) = (stat(), stat())
    guard lstat(real, &file) == 0, lstat((real as NSString).deletingLastPathComponent, &folder) == 0,
      access(real, X_OK) == 0
    else { return false }
    return isTrusted(
      file: .init(mode: file.st_mode, owner: file.st_uid), folder: .init(mode: folder.st_mode, owner: folder.st_uid),
      user: geteuid())
  }

  struct Entry {
    let mode: mode_t
    let owner: uid_t
  }

  static func isTrusted(file: Entry, folder: Entry, user: uid_t) -> Bool {
    guard file.mode & S_IFMT == S_IFREG, [0, user].contains(file.owner), file.mode & S_IWOTH == 0,
      [0, user].contains(folder.owner)
    else { return false }
    return folder.mode & S_IWOTH == 0 || folder.mode & S_ISVTX != 0 && folder.owner == 0
  }
}

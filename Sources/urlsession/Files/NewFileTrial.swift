import Foundation

/// Finds out whether a folder takes a new file, by making one: the permissions of a folder do not tell it of file systems
/// such as those of `/proc` and `/sys`, nor of rules of the system.
enum NewFileTrial {
  /// Faults that may have passed when the file is put in its place.
  private static let passing: Set<Int32> = [
    EAGAIN, EDQUOT, EINTR, EMFILE, ENFILE, ENOMEM, ENOSPC, ESTALE, ETIMEDOUT,
  ]

  /// Makes a hidden file, as the placement of a file does, and removes it.
  ///
  /// - Returns: Why the folder takes no file; nil where it does, or may later.
  static func refusal(of folder: String) -> String? {
    guard access(folder, W_OK | X_OK) == 0 else { return String(cString: strerror(errno)) }
    var template = HiddenName.template(in: folder)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { return sentence(errno) }
    close(descriptor)
    // A folder to which files can only be added would keep the hidden copy as well.
    return unlink(template) == 0 ? nil : sentence(errno)
  }

  private static func sentence(_ code: Int32) -> String? {
    guard !passing.contains(code) else { return nil }
    // The folder is there: its file system makes no files by name.
    return code == ENOENT ? "no file can be made in it" : String(cString: strerror(code))
  }

  /// Whether a file may not be replaced though its folder can be written: with the sticky bit (chmod(1)) only the owner of the
  /// file or of the folder, and root, may.
  static func keepsFile(of owner: uid_t, folder: (owner: uid_t, mode: mode_t), user: uid_t) -> Bool {
    folder.mode & mode_t(S_ISVTX) != 0 && ![owner, folder.owner].contains(user) && user != 0
  }
}

import Foundation

/// A folder that was found at a path, and stays known when it is moved away, or another one is put in its place.
package final class HeldFolder: Sendable {
  package let path: String
  private let descriptor: Int32

  /// Throws where there is no folder that is one itself.
  package init(_ path: String) throws {
    self.path = path
    descriptor = try checked("open", path: path) {
      Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    }
  }

  deinit { _ = close(descriptor) }

  /// Whether the path leads to it now.
  package var isInPlace: Bool {
    guard let own = FileIdentity(descriptor: descriptor) else { return false }
    return FileIdentity(path: path) == own
  }

  /// Whether it was removed, and not only moved: it does not come back.
  package var isRemoved: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Whether a file is on the same disk, as far as hard links may be made.
  package func sharesDisk(with file: SourceFile) throws -> Bool {
    var status = stat()
    _ = try checked("fstat", path: path) { fstat(descriptor, &status) }
    return try file.regularStatus().st_dev == status.st_dev
  }

  /// Throws what speaks against keeping a user's own things in it; see `PrivateDirectory`.
  package func checkPrivate() throws {
    var status = stat()
    _ = try checked("fstat", path: path) { fstat(descriptor, &status) }
    try PrivateDirectory.check(status, path)
  }

  /// Opens a regular file in it for reading: the file of that name itself, and nothing that a link leads to. Blocks.
  package func openFile(_ name: String) throws -> SourceFile {
    let path = "\(path)/\(name)"
    // To open what is no file waits, or does something to it.
    let before = try status(of: name)
    guard before.st_mode & S_IFMT == S_IFREG else { throw SystemError(EINVAL, "open", path: path) }
    let file = SourceFile(
      owning: try checked("openat", path: path) {
        openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
      })
    // It may be another one by now.
    _ = try file.regularStatus(path: path)
    return file
  }

  /// Whether the name is that of this file. Throws where there is no such name.
  package func has(_ name: String, as file: SourceFile) throws -> Bool {
    let (own, present) = (try file.regularStatus(path: "\(path)/\(name)"), try status(of: name))
    return present.st_ino == own.st_ino && present.st_dev == own.st_dev
  }

  /// Removes the name where it is that of the file, and leaves that of another one.
  package func remove(_ name: String, of file: SourceFile) throws {
    let path = "\(path)/\(name)"
    do {
      guard try has(name, as: file) else { return }
      _ = try checked("unlinkat", path: path) { unlinkat(descriptor, name, 0) }
    } catch let error as SystemError where error.isNotFound {}
  }

  private func status(of name: String) throws -> stat {
    var status = stat()
    _ = try checked("fstatat", path: "\(path)/\(name)") { fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) }
    return status
  }

  /// Throws where it is not in its place: what is written to the path would be in another folder.
  package func check() throws {
    guard isInPlace else { throw SystemError(ENOENT, "find", path: path) }
  }
}

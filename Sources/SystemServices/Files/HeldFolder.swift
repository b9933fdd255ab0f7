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

  /// Throws where it is not in its place: what is written to the path would be in another folder.
  package func check() throws {
    guard isInPlace else { throw SystemError(ENOENT, "find", path: path) }
  }
}

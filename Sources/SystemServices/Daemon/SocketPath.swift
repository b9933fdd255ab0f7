import Foundation

/// A path of a Unix-domain socket that fits into an address. unix(7): an address has 107 bytes for it, and a user's folders
/// can have longer paths. Those are reached through a descriptor of the folder, in `/proc/self/fd`, for as long as this
/// value lives.
package final class SocketPath: Sendable {
  /// For the functions of sockets, in this process.
  package let text: String
  private let folder: Int32?

  /// Looks at files where the path is too long.
  package init(_ path: String) throws {
    if UnixAddress(path) != nil {
      (text, folder) = (path, nil)
      return
    }
    let parent = (path as NSString).deletingLastPathComponent
    // O_NOFOLLOW: as `PrivateDirectory` looks at the folder.
    let descriptor = try checked("open", path: parent) {
      open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    }
    let short = "/proc/self/fd/\(descriptor)/\((path as NSString).lastPathComponent)"
    guard UnixAddress(short) != nil else {
      close(descriptor)
      throw SystemError(ENAMETOOLONG, "socket", path: path)
    }
    (text, folder) = (short, descriptor)
  }

  deinit { if let folder { close(folder) } }
}

import Foundation

/// Facts of a file that change when it is written or replaced.
package struct FileStamp: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let modified: [Int]

  /// nil where there is no file of that name. A symbolic link stands for its file.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  /// The table of names of this machine.
  package static func hosts() -> FileStamp? { FileStamp(path: "/etc/hosts") }
}

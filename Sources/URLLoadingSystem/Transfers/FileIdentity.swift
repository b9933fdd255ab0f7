import Foundation

/// Which file, and which content of it, as far as the file system tells without reading it.
package struct FileIdentity: Sendable, Equatable, Codable {
  package var size: Int64
  package var inode: UInt64
  /// Nanoseconds since 1970.
  package var modified: Int64

  init(size: Int64, inode: UInt64, modified: Int64) {
    (self.size, self.inode, self.modified) = (size, inode, modified)
  }

  /// nil when there is no such regular file. Blocks.
  package init?(_ url: URL) {
    var status = stat()
    guard url.isFileURL, stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    self.init(status)
  }

  package init(_ status: stat) {
    size = Int64(status.st_size)
    inode = UInt64(status.st_ino)
    let (seconds, overflow) = Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    modified = overflow ? .max : seconds &+ Int64(status.st_mtim.tv_nsec)
  }
}

import Foundation

/// One file on the disk, whatever its name. The number is not given to another file while the file is open.
package struct FileIdentity: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  /// To be compared with that of another process.
  package var text: String { "\(device):\(inode)" }

  private init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  /// The file of that name, itself where it is a symbolic link; nil when there is none.
  package init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The file that another process has open as that descriptor.
  init?(descriptor: String, of pid: pid_t) {
    var status = stat()
    guard stat("/proc/\(pid)/fd/\(descriptor)", &status) == 0 else { return nil }
    self.init(status)
  }

  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }
}

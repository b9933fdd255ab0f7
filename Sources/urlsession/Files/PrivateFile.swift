import Foundation
import SystemServices

/// Files that no other user may read.
enum PrivateFile {
  /// Replaces the file at `path` at once, with mode 0600. A device or pipe is written to.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    let disk = LinuxFileSystem()
    if Destination.isSpecialFile(path) {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.write(contentsOf: bytes)
      return try handle.close()
    }
    let new = path + ".\(UUID().uuidString.prefix(8)).new"
    do {
      let file = try disk.open(new)
      try bytes.withUnsafeBytes { try file.write($0, at: 0) }
      try file.close()
      try disk.rename(new, to: path)
    } catch {
      try? disk.remove(new)
      throw error
    }
  }
}

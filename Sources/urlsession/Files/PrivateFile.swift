import Foundation
import SystemServices

/// Files of a user's choice that no other user may read.
enum PrivateFile {
  /// Replaces the file at `path` at once, with mode 0600. A device or pipe is written to.
  static func replace(_ path: String, with bytes: [UInt8]) throws {
    if Destination.isSpecialFile(path) {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.write(contentsOf: bytes)
      return try handle.close()
    }
    let disk = LinuxFileSystem()
    // `ReplacedFile` has a fixed name for the new file, which may be another file of the user's here.
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

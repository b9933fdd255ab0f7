import Foundation
import GRDB
import SystemServices

/// Tells whether the disk of a folder is full, where an error may say so and may say something else: SQLite calls a quota that is
/// reached a failed write, and a broken or read-only disk as well. Blocks.
struct ShortageProof {
  let directory: String
  let disk: any DurableFileSystem
  /// How many bytes what has failed may have needed.
  let needed: Int64

  /// - Parameter error: that of an operation in the folder, or of its queue.
  func isGiven(by error: any Error) -> Bool {
    guard SpaceShortage.isCause(of: error) else { return false }
    guard let error = error as? DatabaseError else { return true }
    // The disk of a queue that is a link to another one has no more room for what is removed here.
    return error.resultCode == .SQLITE_FULL && !hasLink || isFull
  }

  private var hasLink: Bool {
    var status = stat()
    return lstat("\(directory)/\(TransferStore.fileName)", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Some bytes are written, too: not every file system can take room, or tells of a quota before that.
  private var isFull: Bool {
    do {
      let free = try disk.freeSpace(at: directory)
      let path = "\(directory)/room"
      let file = try disk.open(path)
      defer { try? file.close() }
      // At once, so that a service that is killed leaves nothing that takes the room.
      try disk.remove(path)
      try file.reserve(needed)
      try Data(count: 256 << 10).withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
      return free < needed
    } catch { return SpaceShortage.isCause(of: error) }
  }
}

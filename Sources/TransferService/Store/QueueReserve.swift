import Foundation
import SystemServices

/// A file beside the queue that takes some MiB of the disk. It is removed when the queue can't be written for want of space,
/// so that what frees space, such as the acknowledgement of a file, does not itself wait for space.
struct QueueReserve: Sendable {
  static let fileName = "reserve"
  /// The log of the database grows to about that before it is written over.
  private static let size: Int64 = 4 << 20
  /// The least that is of use: some pages of the log.
  private static let leastSize: Int64 = 256 << 10
  /// The last bytes of a disk are not for reserves: a program that has just freed them would find them gone.
  private static let leastFree = leastSize * 8

  let directory: String
  let disk: any DurableFileSystem

  private var path: String { "\(directory)/\(QueueReserve.fileName)" }

  /// - Returns: whether it was there.
  func release() -> Bool {
    guard let size = try? disk.size(of: path), size > 0 else { return false }
    return (try? disk.remove(path)) != nil
  }

  /// Does what needs some space. Where it fails because the disk is full, the reserve is removed, and it is done once
  /// more from the beginning.
  func makingRoom<Value>(_ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error where SpaceShortage.isCause(of: error) {
      guard release() else { throw error }
      return try work()
    }
  }

  /// The size on a disk with so many free bytes: a sixteenth of them where they are few; nil where they are too few.
  static func size(free: Int64) -> Int64? {
    guard free >= leastFree else { return nil }
    return free >= size * 8 ? size : max(leastSize, free / 16)
  }

  /// Makes it where it is missing and the disk has room. One that was made on a disk with less room grows.
  func restore() throws {
    let present = try disk.size(of: path) ?? 0
    guard present < QueueReserve.size, let size = QueueReserve.size(free: try disk.freeSpace(at: directory)),
      // Not again for some pages.
      present < size / 2
    else { return }
    let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError(errno, "open", path: path) }
    defer { Foundation.close(descriptor) }
    let code = posix_fallocate(descriptor, 0, off_t(size))
    guard code == 0 else {
      try? disk.remove(path)
      throw SystemError(code, "posix_fallocate", path: path)
    }
  }
}

import Foundation
import SystemServices

/// Damaged queues that were set aside and of which a later queue was made: their folders have nothing else. Each is as large as the
/// queue, and a disk that damages one queue damages others. Blocks.
struct SupersededQueues {
  /// So many of the latest are kept for a person.
  static let kept = 8

  let directory: String
  let disk: any DurableFileSystem

  /// The folders, oldest first.
  ///
  /// - Parameter current: that of the queue that is being set aside.
  func folders(sparing current: String?) throws -> [String] {
    let root = "\(directory)/\(QueueQuarantine.folderName)"
    return try disk.names(in: root).filter { DatedFolder.date($0) != nil }.map { "\(root)/\($0)" }.filter { folder in
      try folder != current && disk.names(in: folder).allSatisfy(SupersededQueues.isOfQueue)
    }
  }

  /// - Returns: the folders that were removed, beyond those that are kept.
  func removeExcess(sparing current: String?) throws -> [String] {
    try folders(sparing: current).dropLast(SupersededQueues.kept).filter { (try? remove($0)) != nil }
  }

  /// Makes room on a full disk. The latest one stays.
  ///
  /// - Returns: the folder that was removed; nil where there is none to remove.
  func removeOldest(sparing current: String?) throws -> String? {
    try folders(sparing: current).dropLast().first { (try? remove($0)) != nil }
  }

  private static func isOfQueue(_ name: String) -> Bool {
    name == "reason.txt" || ["", "-wal", "-shm", "-journal"].contains { name == TransferStore.fileName + $0 }
  }

  private func remove(_ folder: String) throws { try FileManager.default.removeItem(atPath: folder) }
}

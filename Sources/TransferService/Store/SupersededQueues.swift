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
    return try disk.names(in: root).filter { DatedFolder.date($0) != nil }.map { "\(root)/\($0)" }.filter {
      $0 != current && hasOnlyQueue($0)
    }
  }

  /// Whether all that a folder has is known, and is of a queue. One that can't be listed keeps no other from being removed.
  private func hasOnlyQueue(_ folder: String) -> Bool {
    guard kind(of: folder) == S_IFDIR, let names = try? disk.names(in: folder), !names.isEmpty else { return false }
    return names.allSatisfy { name in
      // A folder that was in the place of the queue may have anything.
      SupersededQueues.isOfQueue(name) && [S_IFREG, S_IFLNK].contains(kind(of: "\(folder)/\(name)"))
    }
  }

  private func kind(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// - Returns: the folders that were removed, beyond those that are kept.
  func removeExcess(sparing current: String?) throws -> [String] {
    try folders(sparing: current).dropLast(SupersededQueues.kept).filter { (try? remove($0)) != nil }
  }

  /// Makes room where the disk is full. The latest one stays.
  ///
  /// - Parameter error: that of a queue that could not be opened or made anew.
  /// - Returns: the folder that was removed; nil where that would help nothing, or there is none to remove.
  func makeRoom(after error: any Error, sparing current: String?) throws -> String? {
    let proof = ShortageProof(directory: directory, disk: disk, needed: neededRoom(restoring: current))
    guard proof.isGiven(by: error) else { return nil }
    return try folders(sparing: current).dropLast().first { (try? remove($0)) != nil }
  }

  /// The log of a queue, and where one is made anew three copies of the largest file that it may be made of, and itself.
  private func neededRoom(restoring current: String?) -> Int64 {
    let log: Int64 = 4 << 20
    guard let current else { return log }
    let names = ["", "-wal"].map { "\(current)/\(TransferStore.fileName)\($0)" }
    let largest =
      (names + QueueCopy.names.map { "\(directory)/\($0)" }).compactMap { try? disk.size(of: $0) }.max() ?? 0
    return log + 4 * min(largest, 1 << 40)
  }

  private static func isOfQueue(_ name: String) -> Bool {
    name == "reason.txt" || ["", "-wal", "-shm", "-journal"].contains { name == TransferStore.fileName + $0 }
  }

  private func remove(_ folder: String) throws { try FileManager.default.removeItem(atPath: folder) }
}

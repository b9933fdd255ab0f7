import Foundation
import SystemServices

/// Damaged queues that were set aside and of which a later queue was made: their folders have nothing else. Each is as large as the
/// queue, and a disk that damages one queue damages others. Blocks.
struct SupersededQueues {
  /// So many of the latest are kept for a person.
  static let kept = 8

  let directory: String
  let disk: any DurableFileSystem

  private var root: String { "\(directory)/\(QueueQuarantine.folderName)" }

  /// The folders, in the order in which they were set aside.
  ///
  /// - Parameter current: that of the queue that is being set aside. The path of the service's folder may be another one by now.
  func folders(sparing current: String?) throws -> [String] {
    try dated(except: current).filter(hasOnlyQueue).compactMap { path in status(of: path).map { (path, $0.st_mtim) } }
      .sorted { ($0.1.tv_sec, $0.1.tv_nsec, $0.0) < ($1.1.tv_sec, $1.1.tv_nsec, $1.0) }.map { $0.0 }
  }

  private func dated(except folder: String?) throws -> [String] {
    let own = folder.map { ($0 as NSString).lastPathComponent }
    return try disk.names(in: root).filter { $0 != own && DatedFolder.date($0) != nil }.map { "\(root)/\($0)" }
  }

  /// Has a folder come after the others: the clock may have been set back since they were set aside, or not be set yet. Where that
  /// fails the order is that of the clock.
  func makeLatest(_ folder: String) {
    let others = ((try? dated(except: folder)) ?? []).compactMap { status(of: $0)?.st_mtim.tv_sec }
    guard let latest = others.max(), let own = status(of: folder), own.st_mtim.tv_sec <= latest else { return }
    let time = timespec(tv_sec: latest &+ 1, tv_nsec: 0)
    _ = utimensat(AT_FDCWD, folder, [time, time], AT_SYMLINK_NOFOLLOW)
  }

  /// Whether all that a folder has is known, and is of a queue. One that can't be listed keeps no other from being removed.
  private func hasOnlyQueue(_ folder: String) -> Bool {
    guard kind(of: folder) == S_IFDIR, let names = try? disk.names(in: folder), !names.isEmpty else { return false }
    return names.allSatisfy { name in
      // A folder that was in the place of the queue may have anything.
      SupersededQueues.isOfQueue(name) && [S_IFREG, S_IFLNK].contains(kind(of: "\(folder)/\(name)"))
    }
  }

  private func status(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  private func kind(of path: String) -> mode_t? { status(of: path).map { $0.st_mode & S_IFMT } }

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

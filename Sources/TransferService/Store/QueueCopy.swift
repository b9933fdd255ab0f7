import Foundation
import SystemServices
import TransferProtocol

/// The copy of the queue that lies beside it, for the case that the queue is removed or damaged. It is made while the
/// service has little to do, is looked through before it takes the place of the one before, and is as old as its date.
///
/// Its file has two names, which take the room of one: a person who removes the queue with all that is named after it removes
/// one of them.
struct QueueCopy {
  static let fileName = ServiceNames.queueCopy
  static let names = [fileName, ServiceNames.secondQueueCopy]

  let directory: String
  let disk: any DurableFileSystem

  /// Of the copy that is used first.
  var path: String { "\(directory)/\(QueueCopy.fileName)" }
  /// In the order in which they are used.
  var paths: [String] { QueueCopy.names.map { "\(directory)/\($0)" } }
  private var queuePath: String { "\(directory)/\(TransferStore.fileName)" }

  /// The last bytes of a disk are not for copies.
  private static let reserve: Int64 = 16 << 20

  /// - Parameters:
  ///   - database: The queue that is in use.
  ///   - isInPlace: Whether its files are. If not, what it has can still be read.
  func make(of database: QueueDatabase, isInPlace: Bool) throws {
    try make { new in
      if isInPlace {
        // Else garbage in a long record would take the place of what the copy before has.
        try QueueFile.check(queuePath)
        try QueueFile.write(queuePath, to: new, disk: disk)
      } else {
        try QueueFile.write(to: new, disk: disk) { try database.copy(to: new) }
      }
    }
  }

  /// Of a queue that was just made anew, or of one with changes that are nowhere else, before it is in use: that takes some of the
  /// last bytes, too.
  func makeAtOnce() throws {
    try make(leaving: QueueCopy.reserve / 4) { try QueueFile.write(queuePath, to: $0, disk: disk) }
  }

  private func make(leaving reserve: Int64 = QueueCopy.reserve, _ write: (String) throws -> Void) throws {
    let count = (try disk.size(of: queuePath) ?? 0) + (try disk.size(of: queuePath + "-wal") ?? 0)
    guard try disk.freeSpace(at: directory) / 2 > count + reserve else {
      throw SystemError(ENOSPC, "copy", path: path)
    }
    let new = path + ".new"
    try setAsideObstacles()
    // Left behind by a service that was killed.
    try disk.remove(new + "-journal")
    try write(new)
    try disk.rename(new, to: path)
    for other in paths where other != path {
      // Without the other name the copy is as good as it was. An older copy would begin again what is over since.
      do { try link(as: other) } catch { try? disk.remove(other) }
    }
    try disk.syncDirectory(directory)
  }

  /// A folder, say, whose place the copy can't take. It is kept.
  private func setAsideObstacles() throws {
    let names = QueueCopy.names.flatMap { [$0, $0 + ".new"] }.filter { QueueFile.isNoFile("\(directory)/\($0)") }
    guard !names.isEmpty else { return }
    let folder = "\(directory)/\(TransferFiles.setAsideName)/\(DatedFolder.name(Date()))"
    try disk.createDirectory(folder)
    for name in names { try disk.rename("\(directory)/\(name)", to: "\(folder)/\(name)") }
  }

  private func link(as other: String) throws {
    let new = other + ".new"
    // Left behind by a service that was killed.
    try disk.remove(new)
    try disk.link(path, to: new)
    try disk.rename(new, to: other)
  }
}

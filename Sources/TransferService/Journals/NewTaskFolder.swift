import Foundation
import SystemServices

/// The files with records of new tasks and of changes: `enqueued/tasks-3`, in the order of their numbers.
struct NewTaskFolder: Sendable {
  static let name = "enqueued"
  private static let prefix = "tasks-"

  /// The next file, which has room for some hundred tasks on a disk that has none left.
  static let spareName = "enqueued-spare"
  private static let spareSize: Int64 = 256 << 10
  /// The last bytes of a disk are not for spare files.
  private static let leastFree = spareSize * 4

  let directory: String
  let disk: any DurableFileSystem
  private let spare: String

  init(in directory: String, disk: any DurableFileSystem) {
    self.directory = "\(directory)/\(NewTaskFolder.name)"
    spare = "\(directory)/\(NewTaskFolder.spareName)"
    self.disk = disk
  }

  func numbers() throws -> [Int] {
    try disk.names(in: directory).compactMap {
      $0.hasPrefix(NewTaskFolder.prefix) ? Int($0.dropFirst(NewTaskFolder.prefix.count)) : nil
    }.filter { $0 > 0 && $0 < .max }.sorted()
  }

  /// A new file, with a name that lasts.
  func makeFile() throws -> (number: Int, file: any DurableFile) {
    let number = (try numbers().last ?? 0) + 1
    if try hasSpare() { try disk.rename(spare, to: path(number)) }
    let file = try disk.open(path(number))
    do { try disk.syncDirectory(directory) } catch {
      try? file.close()
      throw error
    }
    return (number, file)
  }

  func has(_ number: Int) throws -> Bool { try disk.size(of: path(number)) != nil }

  func hasSpare() throws -> Bool { try disk.size(of: spare) != nil }

  /// Makes the spare file where it is missing and the disk has room.
  func makeSpare() throws {
    let folder = (spare as NSString).deletingLastPathComponent
    guard try !hasSpare(), try disk.freeSpace(at: folder) >= NewTaskFolder.leastFree else { return }
    let file = try disk.open(spare)
    defer { try? file.close() }
    do { try file.reserve(NewTaskFolder.spareSize) } catch {
      try? disk.remove(spare)
      throw error
    }
  }

  func remove(_ number: Int) throws { try disk.remove(path(number)) }

  func remove(before number: Int) throws {
    for old in try numbers() where old < number { try disk.remove(path(old)) }
  }

  struct Records {
    /// Of new tasks, without those that are over.
    var journals: [TransferJournal] = []
    /// Tasks that are over for their apps, be they new or in the copy of the queue.
    var ended: Set<TransferID> = []
    /// In the order in which they were made.
    var changes: [QueueChange] = []
  }

  /// All that the files say. A file of which the end is damaged gives what comes before that. Throws where the machine can't
  /// read one now.
  func records() throws -> Records {
    var journals: [TransferID: TransferJournal] = [:]
    var ended: Set<TransferID> = []
    var changes: [QueueChange] = []
    for number in try numbers() {
      guard let content = try disk.readableContent(of: path(number)) else { continue }
      for record in NewTaskRecord.records(in: content) {
        switch record {
        case .new(let tasks): for task in tasks { journals[task.transfer] = task }
        case .ended(let ids): ended.formUnion(ids)
        case .changed(let made): changes += made
        }
      }
    }
    let alive = journals.values.filter { !ended.contains($0.transfer) }
    return Records(journals: alive.sorted { $0.transfer < $1.transfer }, ended: ended, changes: changes)
  }

  /// How far the queue had come when they were written; 0 where there are none.
  func highest() throws -> QueueNumbers {
    // One file after the other is in memory.
    try numbers().reduce(QueueNumbers()) { highest, number in
      guard let content = try disk.readableContent(of: path(number)) else { return highest }
      return highest.joined(with: NewTaskRecord.highest(in: content))
    }
  }

  /// When the oldest file was written last; nil where there is none.
  func oldestDate() -> Date? {
    guard let number = try? numbers().first else { return nil }
    return try? FileManager.default.attributesOfItem(atPath: path(number))[.modificationDate] as? Date
  }

  private func path(_ number: Int) -> String { "\(directory)/\(NewTaskFolder.prefix)\(number)" }
}

extension TransferFiles {
  /// Records of tasks that the last copy of the queue may not have.
  var newTasks: NewTaskFolder { NewTaskFolder(in: directory, disk: disk) }
}

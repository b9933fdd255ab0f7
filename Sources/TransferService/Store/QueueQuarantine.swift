import Foundation
import SystemServices
import TransferProtocol

/// Sets a queue aside that is damaged, or what is left of one that was removed, in a folder beside it.
///
/// A note is on the disk from before the first file is moved until the new queue has its first number. With it, the next
/// service after one that was killed in between moves the rest, uses no number again and leaves apps the files that they
/// may be reading.
struct QueueQuarantine {
  struct Note: Codable, Equatable {
    /// The highest number of a transfer that had a file, or that the copy or a record of a new task had.
    var highest: TransferID
    var folder: String
    var reason: String
    /// There was no file of the queue, so none comes into the folder.
    var queueIsMissing: Bool?
  }

  let directory: String
  let disk: any DurableFileSystem

  /// The folder with the dated ones.
  static let folderName = "quarantine"
  private static let queueName = TransferStore.fileName
  private var notePath: String { "\(directory)/\(ServiceNames.quarantineNote)" }
  private var queuePath: String { "\(directory)/\(QueueQuarantine.queueName)" }

  /// The note of a service that did not come to the end.
  func note() throws -> Note? {
    guard try disk.size(of: notePath) != nil else { return nil }
    // It gets its name when it is whole. One that the disk has damaged says nothing.
    return try? MessageFraming.decode(Note.self, from: Data(contentsOf: URL(fileURLWithPath: notePath)))
  }

  /// Whether the damaged queue is in the folder already.
  func hasQueue(_ note: Note) throws -> Bool {
    try disk.size(of: "\(note.folder)/\(QueueQuarantine.queueName)") != nil
  }

  /// Whether a file that has the name of the queue is the new one.
  func hasNewQueue(_ note: Note) throws -> Bool {
    guard try disk.size(of: queuePath) != nil else { return false }
    return try note.queueIsMissing == true || hasQueue(note)
  }

  /// Whether there are things that only a queue can have left.
  func hasTraces() throws -> Bool {
    for name in ["\(QueueQuarantine.queueName)-wal"] + QueueCopy.names {
      if try disk.size(of: "\(directory)/\(name)") ?? 0 > 0 { return true }
    }
    for name in TransferFiles.namesOfFolders {
      if try !disk.names(in: "\(directory)/\(name)").isEmpty { return true }
    }
    return false
  }

  /// From here on the queue is set aside, by this service or by the next one.
  func begin(after earlier: Note?, reason: String, date: Date) throws -> Note {
    var note = Note(
      highest: max(try highestNumber(), try recorded().transfer, earlier?.highest ?? 0),
      folder: "\(directory)/\(QueueQuarantine.folderName)/\(DatedFolder.name(date))", reason: reason)
    if try disk.size(of: queuePath) == nil { note.queueIsMissing = true }
    if let earlier, try !hasQueue(earlier) { note.folder = earlier.folder }
    try disk.replace(notePath) { file in
      try MessageFraming.encode(note).withUnsafeBytes { try file.write($0, at: 0) }
    }
    return note
  }

  /// Moves the queue, where it is not in the folder yet, and what is no file at the name of a copy.
  func moveQueue(_ note: Note) throws {
    try disk.createDirectory(note.folder)
    // The journal of a transaction that was cut off belongs to no other queue: it goes first.
    for suffix in ["-journal", "", "-wal", "-shm"] {
      try move("\(QueueQuarantine.queueName)\(suffix)", to: note.folder)
    }
    // A new copy could not take its place.
    for name in QueueCopy.names where QueueFile.isNoFile("\(directory)/\(name)") { try move(name, to: note.folder) }
    try Data("The queue could not be used and was set aside: \(note.reason)\n".utf8)
      .write(to: URL(fileURLWithPath: "\(note.folder)/reason.txt"))
    try disk.syncDirectory(note.folder)
    try disk.syncDirectory(directory)
  }

  /// How far the queue had come by what the copy, the journals and the records say. One that is behind that has lost changes that were
  /// on the disk.
  func recorded() throws -> QueueNumbers {
    let files = TransferFiles(directory: directory, disk: disk)
    return try files.newTasks.highest().joined(with: copied())
      .joined(with: QueueNumbers(transfer: files.journals.highestTransfer()))
  }

  /// How far the copy had come; 0 where there is none, or it can't be read: a copy on a damaged part of the disk keeps no queue from
  /// being used.
  func copied() -> QueueNumbers {
    QueueCopy(directory: directory, disk: disk).paths.compactMap { try? QueueFile.numbers(in: $0).plausible }
      .reduce(QueueNumbers()) { $0.joined(with: $1) }
  }

  /// Moves the files of transfers, and a copy that can't be used: no queue says anything of them. A person may have use for
  /// received bytes. Files that apps may be reading stay where they are.
  func moveFiles(_ note: Note) throws {
    for name in QueueCopy.names { try move(name, to: note.folder) }
    for name in TransferFiles.namesOfFolders where name != TransferFiles.deliveryName {
      try move(name, to: note.folder)
    }
    try disk.syncDirectory(note.folder)
    try disk.syncDirectory(directory)
  }

  private func move(_ name: String, to folder: String) throws {
    guard try disk.size(of: "\(directory)/\(name)") != nil, try disk.size(of: "\(folder)/\(name)") == nil else {
      return
    }
    try disk.rename("\(directory)/\(name)", to: "\(folder)/\(name)")
  }

  /// The new queue has its first number.
  func end() throws {
    try disk.remove(notePath)
    try disk.syncDirectory(directory)
  }

  /// The highest number of a transfer that has a file, here or in the folder of the note.
  func highestNumber(_ note: Note? = nil) throws -> TransferID {
    let names = try [directory, note?.folder ?? directory].flatMap { folder in
      try TransferFiles.namesOfFolders
        .flatMap { try disk.names(in: "\(folder)/\($0)") }
    }
    return names.compactMap { TransferID($0.prefix { $0 != "." }) }.filter { $0 < TransferNumbers.end }.max()
      ?? 0
  }
}

import Foundation
import SystemServices
import TransferProtocol

/// Sets a damaged queue aside, in a folder beside it.
///
/// A note is on the disk from before the first file is moved until the new queue has its first number. With it, the next
/// service after one that was killed in between moves the rest, uses no number again and leaves apps the files that they
/// may be reading.
struct QueueQuarantine {
  struct Note: Codable, Equatable {
    /// The highest number of a transfer that had a file.
    var highest: TransferID
    var folder: String
    var reason: String
  }

  let directory: String
  let disk: any DurableFileSystem

  private static let queueName = TransferStore.fileName
  private var notePath: String { "\(directory)/quarantine.json" }
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

  func begin(after earlier: Note?, reason: String, date: Date) throws -> Note {
    let name = "\(Int(date.timeIntervalSince1970))-\(UUID().uuidString.prefix(8))"
    var note = Note(
      highest: max(try highestNumber(), earlier?.highest ?? 0), folder: "\(directory)/quarantine/\(name)",
      reason: reason)
    if let earlier, try !hasQueue(earlier) { note.folder = earlier.folder }
    try disk.replace(notePath) { file in
      try MessageFraming.encode(note).withUnsafeBytes { try file.write($0, at: 0) }
    }
    return note
  }

  /// Moves what is not in the folder yet.
  func move(_ note: Note) throws {
    try disk.createDirectory(note.folder)
    // Once the damaged queue is in the folder and there is another one, that is the new one.
    if try !hasQueue(note) || disk.size(of: queuePath) == nil {
      for suffix in ["", "-wal", "-shm"] {
        try move("\(QueueQuarantine.queueName)\(suffix)", to: note.folder)
      }
    }
    // A person may have use for received bytes. Files that apps may be reading stay where they are.
    for name in [TransferFiles.partialName, TransferFiles.completeName] { try move(name, to: note.folder) }
    try Data("The queue could not be opened and was set aside: \(note.reason)\n".utf8)
      .write(to: URL(fileURLWithPath: "\(note.folder)/reason.txt"))
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

  /// The highest number of a transfer that has a file.
  private func highestNumber() throws -> TransferID {
    let names = try [TransferFiles.partialName, TransferFiles.completeName, TransferFiles.deliveryName]
      .flatMap { try disk.names(in: "\(directory)/\($0)") }
    // Numbers are small; one near the end of their range is not ours and would leave no room.
    return names.compactMap { TransferID($0.prefix { $0 != "." }) }.filter { $0 < 1 << 60 }.max() ?? 0
  }
}

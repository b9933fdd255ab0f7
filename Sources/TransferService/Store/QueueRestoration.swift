import Foundation
import GRDB
import SystemServices

/// Makes a queue out of what is left: of the damaged one, when all of it can still be read, else of the last copy.
///
/// The new queue gets its name when it is whole. A service that is killed before begins again.
struct QueueRestoration {
  let directory: String
  let disk: any DurableFileSystem
  /// The folder that the damaged queue is in.
  let folder: String

  enum Source: Equatable {
    /// Nothing was lost.
    case damagedQueue
    /// Later changes are lost.
    case copy(Date?)
  }

  private var work: String { "\(directory)/restoration" }
  private var queuePath: String { "\(directory)/\(TransferStore.fileName)" }

  /// nil when there is nothing that a queue can be made of.
  func restore() throws -> Source? {
    defer { try? FileManager.default.removeItem(atPath: work) }
    let copy = QueueCopy(directory: directory, disk: disk).path
    if try isUsable("\(folder)/\(TransferStore.fileName)", forgetsProgress: false) { return .damagedQueue }
    let date = try? FileManager.default.attributesOfItem(atPath: copy)[.modificationDate] as? Date
    return try isUsable(copy, forgetsProgress: true) ? .copy(date) : nil
  }

  /// False when the file is missing or damaged itself. Throws when the machine could not do it now.
  private func isUsable(_ source: String, forgetsProgress: Bool) throws -> Bool {
    guard try disk.size(of: source) ?? 0 > 0 else { return false }
    do {
      try use(source, forgetsProgress: forgetsProgress)
      return true
    } catch let error as DatabaseError where !error.isOfTheMachine {
      return false
    }
  }

  private func use(_ source: String, forgetsProgress: Bool) throws {
    let manager = FileManager.default
    if manager.fileExists(atPath: work) { try manager.removeItem(atPath: work) }
    try disk.createDirectory(work)
    // SQLite changes what it opens, so it gets a duplicate: what was set aside stays as it was found.
    let (duplicate, new) = ("\(work)/source.sqlite", "\(work)/\(TransferStore.fileName)")
    for suffix in ["", "-wal"] where try disk.size(of: source + suffix) != nil {
      try manager.copyItem(atPath: source + suffix, toPath: duplicate + suffix)
    }
    try QueueFile.write(duplicate, to: new, disk: disk)
    try prepare(new, forgetsProgress: forgetsProgress)
    let file = try disk.open(new)
    defer { try? file.close() }
    try file.sync()
    try disk.rename(new, to: queuePath)
    try disk.syncDirectory(directory)
  }

  private func prepare(_ path: String, forgetsProgress: Bool) throws {
    let connection = try QueueFile.open(path)
    defer { try? connection.close() }
    let migrator = TransferSchema.migrator
    guard try connection.read({ try !migrator.hasBeenSuperseded($0) }) else {
      throw TransferStoreError.newerVersion(path)
    }
    try migrator.migrate(connection)
    guard forgetsProgress else { return }
    for id in try connection.write({ try forgetProgress($0) }) {
      let partial = "\(TransferFiles.partialName)/\(id)"
      guard try disk.size(of: "\(directory)/\(partial)") != nil else { continue }
      try disk.createDirectory("\(folder)/\(TransferFiles.partialName)")
      try disk.rename("\(directory)/\(partial)", to: "\(folder)/\(partial)")
    }
  }

  /// Since the copy was made a transfer may have started over, with bytes of another version of its resource. What the copy
  /// says of received bytes counts only where a whole file of that length is there. Returns the transfers that begin anew.
  private func forgetProgress(_ database: Database) throws -> [TransferID] {
    let heads = try StoredTransferHead.fetchAll(
      database, sql: "SELECT \(StoredTransferHead.columns) FROM transfers WHERE state <> 'completed'")
    let update = try database.makeStatement(
      sql: """
        UPDATE transfers SET committedOffset = 0, response = NULL, validator = NULL, expectedTotal = -1
        WHERE id = ? AND committedOffset > 0
        """)
    var forgotten: [TransferID] = []
    for head in heads {
      let size = try disk.size(of: "\(directory)/\(TransferFiles.completeName)/\(head.id)")
      if let size, size == head.expectedTotal { continue }
      try update.execute(arguments: [head.id])
      forgotten.append(head.id)
    }
    return forgotten
  }
}

import Foundation
import GRDB
import SystemServices

/// Makes a queue out of what is left: of the damaged one, when all of it can still be read, else of the last copy, the rows
/// of the damaged one that can be read, and the journals.
///
/// The new queue gets its name when it is whole. A service that is killed before begins again.
struct QueueRestoration {
  let directory: String
  let disk: any DurableFileSystem
  /// The folder that the damaged queue is in.
  let folder: String
  let date: Date
  let bootID: String

  enum Source: Equatable {
    /// Nothing was lost.
    case damagedQueue
    /// Later changes than those of the base may be lost.
    case parts(Base, QueueRebuilding.Result)
  }

  /// The queue that the rest is added to.
  enum Base: Equatable {
    case nothing
    /// The old one, which is whole and without its last changes.
    case oldQueue
    /// The copy, with its date.
    case copy(Date?)
  }

  private var work: String { "\(directory)/restoration" }
  private var new: String { "\(work)/\(TransferStore.fileName)" }
  private var damaged: String { "\(folder)/\(TransferStore.fileName)" }
  private var queuePath: String { "\(directory)/\(TransferStore.fileName)" }

  /// nil when there is nothing that a queue can be made of.
  func restore() throws -> Source? {
    defer { try? FileManager.default.removeItem(atPath: work) }
    let place = LostFiles.Place(directory: directory, folder: folder, disk: disk)
    try LostFiles.forgetList(in: place)
    let quarantine = QueueQuarantine(directory: directory, disk: disk)
    let isWhole = try isUsable(damaged, ifWhole: true)
    if isWhole {
      guard try QueueFile.numbers(in: new).isBehind(quarantine.recorded()) else {
        try publish()
        return .damagedQueue
      }
    }
    // A queue without its last changes says nothing against a copy that has more of them.
    let isBase = try isWhole && !QueueFile.numbers(in: new).isBehind(quarantine.copied())
    let copy = try isBase ? nil : QueueCopy(directory: directory, disk: disk).paths.first { try isUsable($0) }
    let hasCopy = copy != nil
    // The look at the copy has taken the place of the other one.
    let hasOld = try isBase || !hasCopy && isWhole && isUsable(damaged, ifWhole: true)
    if !hasOld && !hasCopy { try makeEmpty() }
    let parts = try !isWhole && !QueueFile.isNoFile(damaged) && disk.size(of: damaged) ?? 0 > 0
    let (result, files) = try QueueRebuilding(
      directory: directory, disk: disk, folder: folder, date: date, bootID: bootID
    )
    .fill(new, from: parts ? duplicate(damaged, as: "damaged.sqlite") : nil)
    guard hasOld || hasCopy || !result.isEmpty else { return nil }
    try files.note(in: place)
    try publish()
    try LostFiles.moveListed(in: place)
    let copyDate =
      copy.flatMap { try? FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] } as? Date
    return .parts(hasCopy ? .copy(copyDate) : hasOld ? .oldQueue : .nothing, result)
  }

  /// False when the file is missing, no file at all or damaged itself. Throws when the machine could not do it now.
  ///
  /// - Parameter ifWhole: Each record is looked at to its end. Of a copy, one that is damaged there costs no other.
  private func isUsable(_ source: String, ifWhole: Bool = false) throws -> Bool {
    guard !QueueFile.isNoFile(source), try disk.size(of: source) ?? 0 > 0 else { return false }
    do {
      try beginWork()
      let duplicate = try duplicate(source, as: "source.sqlite")
      if ifWhole { try QueueFile.checkTables(duplicate) }
      try QueueFile.write(duplicate, to: new, disk: disk)
      try prepare()
      return true
    } catch let error as DatabaseError where !error.isOfTheMachine {
      return false
    }
  }

  private func makeEmpty() throws {
    try beginWork()
    try disk.open(new).close()
    try prepare()
  }

  private func beginWork() throws {
    if FileManager.default.fileExists(atPath: work) { try FileManager.default.removeItem(atPath: work) }
    try disk.createDirectory(work)
  }

  /// SQLite changes what it opens, so it gets a duplicate: what was set aside stays as it was found.
  private func duplicate(_ source: String, as name: String) throws -> String {
    for suffix in ["", "-wal", "-journal"] where try disk.size(of: source + suffix) != nil {
      let copy = "\(work)/\(name)\(suffix)"
      let file = try SourceFile.open(source + suffix)
      let size = try file.regularStatus().st_size
      if try !disk.clone(file, to: copy) { _ = try disk.duplicate(file, count: Int64(size), to: copy) }
    }
    return "\(work)/\(name)"
  }

  private func prepare() throws {
    let connection = try QueueFile.open(new)
    defer { try? connection.close() }
    let migrator = TransferSchema.migrator
    guard try connection.read({ try !migrator.hasBeenSuperseded($0) }) else {
      throw TransferStoreError.newerVersion(new)
    }
    try migrator.migrate(connection)
  }

  /// The folder stays where a service is killed in the middle.
  static func removeWork(in directory: String, disk: any DurableFileSystem) throws {
    let work = "\(directory)/restoration"
    if try disk.size(of: work) != nil { try FileManager.default.removeItem(atPath: work) }
  }

  private func publish() throws {
    let file = try disk.open(new)
    defer { try? file.close() }
    try file.sync()
    try disk.rename(new, to: queuePath)
    try disk.syncDirectory(directory)
  }
}

extension QueueRestoration.Source {
  /// A clause.
  var sentence: String {
    switch self {
    case .damagedQueue: return "it has all of the old one, which could still be read"
    case .parts(let base, let result):
      var parts = [
        (result.salvaged, "tasks of the old one that could be read"), (result.fromJournals, "tasks by their journals"),
        (result.lost, "tasks that were lost, whose apps are told"), (result.changes, "later changes by their records"),
      ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      var missing = ""
      switch base {
      case .nothing: missing = "; pauses, limits and tasks of which there is no record are gone"
      case .oldQueue: parts.append("what the old one has, of which the last changes are gone")
      case .copy(let date):
        parts.append("what the copy\(date.map { " of \($0.ISO8601Format())" } ?? "") had")
        if result.changes == 0 {
          missing = "; of later pauses, edits, limits, failures and cancellations there is no record"
        }
      }
      return "it has \(parts.joined(separator: ", "))\(missing)"
    }
  }
}

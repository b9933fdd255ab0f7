import Foundation
import GRDB
import Synchronization
import SystemServices
import TransferProtocol

/// The durable queue: apps, sessions, transfers and the events that wait to be acknowledged, in SQLite.
///
/// Every write is all or nothing (WAL with `synchronous=FULL`). A call with `ended` asks for a write, and is called back when
/// it is on the disk or was not made; all others block, until their write is on the disk. Calls may come from any thread.
package final class TransferStore: Sendable {
  let database: QueueDatabase
  /// Why an earlier queue was set aside when this one was opened; nil when it was not.
  package let quarantine: Quarantine?
  /// The folder as it was opened.
  private let folder: HeldFolder
  private let files: OpenQueueFiles
  private let directory: String
  private let disk: any DurableFileSystem
  let reserve: QueueReserve
  /// Seals answers; nil where they are kept as they are.
  let key: QueueKey?
  /// How many changes this life had made to the queue when the copy was made; nil before the first one.
  private let copied = Mutex<Int?>(nil)

  package struct Quarantine: Sendable, Equatable {
    /// The folder that the old queue is in now.
    package var path: String
    package var reason: String
    /// The contents of the queue that was begun: a clause.
    package var contents: String
  }

  private init(
    _ pool: DatabasePool, quarantine: Quarantine?, directory: String, disk: any DurableFileSystem, key: QueueKey?
  ) throws {
    self.key = key
    folder = try HeldFolder(directory)
    files = OpenQueueFiles("\(directory)/\(TransferStore.fileName)")
    let reserve = QueueReserve(directory: directory, disk: disk)
    database = QueueDatabase(pool) { reserve.release() }
    self.reserve = reserve
    // A full disk is no reason to serve no app.
    try? reserve.restore()
    self.quarantine = quarantine
    self.directory = directory
    self.disk = disk
  }

  package static let fileName = ServiceNames.queue

  /// Opens the queue in `directory`, or makes one.
  ///
  /// A queue that is damaged, that is gone or empty though it has left files, or that has no file at its name but a folder, for
  /// example, is set aside in a folder. A new one is made
  /// of the damaged one, where all of it can be read, else of the copy, what can be read of the damaged one and the
  /// journals; without any of these it is empty, and the files of transfers go into the folder, too. Its numbers are none of the old ones. All that goes on where a service was killed in
  /// the middle of it. Other failures (no permission, a newer version's queue) are thrown: they say nothing against the
  /// data. So is a full disk, where there are no reserve and no earlier damaged queues to make room with.
  ///
  /// - Parameters:
  ///   - key: seals what servers have answered.
  ///   - report: called with a sentence for each file whose permissions were mended, and each earlier damaged queue that was
  ///     removed: there are too many, or the disk is full.
  package static func open(
    in directory: String, date: Date = Date(), disk: any DurableFileSystem = LinuxFileSystem(),
    bootID: String = SystemClock().bootID, sealingWith key: QueueKey? = nil,
    report: (String) -> Void = { _ in }
  ) throws -> TransferStore {
    while true {
      do {
        return try QueueReserve(directory: directory, disk: disk).makingRoom {
          try QueueFile.mendPermissions(in: directory, report: report)
          return try openOnce(in: directory, date: date, disk: disk, bootID: bootID, key: key, report: report)
        }
      } catch let error where SpaceShortage.isCause(of: error) {
        let current = try? QueueQuarantine(directory: directory, disk: disk).note()?.folder
        let earlier = SupersededQueues(directory: directory, disk: disk)
        guard let removed = try? earlier.makeRoom(after: error, sparing: current) else { throw error }
        report("The disk is full, so an earlier damaged queue was removed: \(removed).")
      }
    }
  }

  /// May be called again after it has failed, as after a service that was killed.
  private static func openOnce(
    in directory: String, date: Date, disk: any DurableFileSystem, bootID: String, key: QueueKey?,
    report: (String) -> Void
  ) throws -> TransferStore {
    let path = "\(directory)/\(fileName)"
    let quarantine = QueueQuarantine(directory: directory, disk: disk)
    let earlier = SupersededQueues(directory: directory, disk: disk)
    var source: QueueRestoration.Source?
    func setAside(_ note: QueueQuarantine.Note) throws {
      try quarantine.moveQueue(note)
      source = try QueueRestoration(
        directory: directory, disk: disk, folder: note.folder, date: date, bootID: bootID
      ).restore()
      if source == nil { try quarantine.moveFiles(note) }
      earlier.makeLatest(note.folder)
    }
    var note = try quarantine.note()
    if let note, try quarantine.hasNewQueue(note) {
      // The service before was killed when it had made it.
      try LostFiles.moveListed(in: .init(directory: directory, folder: note.folder, disk: disk))
      earlier.makeLatest(note.folder)
      try QueueRestoration.removeWork(in: directory, disk: disk)
    } else if let note {
      try setAside(note)
    }
    let pool: DatabasePool
    do {
      guard !QueueFile.isNoFile(path) else {
        throw DatabaseError(resultCode: .SQLITE_NOTADB, message: "what has the name of the queue is no file")
      }
      if note == nil, try isLost(path), try quarantine.hasTraces() {
        throw DatabaseError(resultCode: .SQLITE_NOTADB, message: "the file of the queue is missing or empty")
      }
      let opened = try openDatabase(path)
      if note == nil {
        let numbers = try expectEverything(in: opened, quarantine)
        // A full disk is no reason to serve no app.
        try? copyIfAhead(numbers, in: directory, disk: disk)
      }
      pool = opened
    } catch let error as DatabaseError where error.isDamage {
      let begun = try quarantine.begin(after: note, reason: "\(error)", date: date)
      try setAside(begun)
      note = begun
      pool = try openDatabase(path)
    }
    guard let note else { return try TransferStore(pool, quarantine: nil, directory: directory, disk: disk, key: key) }
    try RaisedNumbers(
      highest: max(note.highest, quarantine.highestNumber(note)), date: date, changes: quarantine.recorded().changes
    ).write(to: pool)
    // In the file itself, so that they are not lost with a log that is.
    _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    // The next copy may be a minute away, and until then rows that were read from the damaged queue would be nowhere else. Where
    // there is no room for a copy the service begins without it. Not before the new queue has its name: a copy with the ends of
    // lost tasks would have the next service take their files for needless.
    try? QueueCopy(directory: directory, disk: disk).makeAtOnce()
    try quarantine.end()
    let excess = try? earlier.removeExcess(sparing: note.folder)
    for folder in excess ?? [] { report("An earlier damaged queue was removed: \(folder).") }
    let result = Quarantine(
      path: note.folder, reason: note.reason, contents: source?.sentence ?? "nothing of the old one is in it")
    return try TransferStore(pool, quarantine: result, directory: directory, disk: disk, key: key)
  }

  /// Finds a queue that is whole and not the one that it was: its log is gone or damaged, or its file has been removed since it was
  /// looked at, and SQLite has made another one. Returns how far it has come.
  private static func expectEverything(in pool: DatabasePool, _ quarantine: QueueQuarantine) throws -> QueueNumbers {
    let numbers = try pool.read { database in
      QueueNumbers(
        transfer: try TransferNumbers.highestGiven(in: database) ?? 0, changes: try QueueNumbers.changes(in: database))
    }
    guard try numbers.isBehind(quarantine.recorded()) else { return numbers.plausible }
    try pool.close()
    throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the last changes of the queue are gone")
  }

  /// A service that was killed between a change and its record leaves the change in the queue alone. The app that has asked for it finds
  /// it done, and counts on it: so the queue is copied. The records go once the copy has all: an earlier change of the same thing, made
  /// once more, would undo a later one without a record. A long queue is copied while the service works.
  private static func copyIfAhead(
    _ numbers: QueueNumbers, in directory: String, disk: any DurableFileSystem
  ) throws {
    let quarantine = QueueQuarantine(directory: directory, disk: disk)
    let records = NewTaskFolder(in: directory, disk: disk)
    let last = try records.numbers().last ?? 0
    if quarantine.copied().isBehind(numbers) {
      guard try quarantine.recorded().isBehind(numbers),
        try disk.size(of: "\(directory)/\(fileName)") ?? 0 <= QueueFile.longestChecked
      else { return }
      try QueueCopy(directory: directory, disk: disk).makeAtOnce()
    }
    try records.remove(before: last + 1)
  }

  private static func isLost(_ path: String) throws -> Bool {
    guard try LinuxFileSystem().size(of: path) != nil else { return true }
    return try QueueFile.isBlank(path)
  }

  private static func openDatabase(_ path: String) throws -> DatabasePool {
    if try LinuxFileSystem().size(of: path) != nil { try QueueFile.checkAtStart(path) }
    var configuration = Configuration()
    configuration.label = "queue"
    configuration.busyMode = .timeout(5)
    try QueueFile.makePrivate(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    do { try prepare(pool, path) } catch let error as DatabaseError where error.isOfTheMachine {
      // It may be opened again by this process.
      try? pool.close()
      throw error
    }
    return pool
  }

  private static func prepare(_ pool: DatabasePool, _ path: String) throws {
    // FULL: a commit is on the disk when it returns, also after a power failure. Only here, since GRDB chooses NORMAL
    // when it opens the one connection that writes, after any preparation of ours.
    try pool.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA synchronous = FULL")
      try SecureDeletion.begin(database)
    }
    let migrator = TransferSchema.migrator
    guard try pool.read({ try !migrator.hasBeenSuperseded($0) }) else { throw TransferStoreError.newerVersion(path) }
    try migrator.migrate(pool)
    try SecureDeletion.clearRemains(in: pool)
  }

  /// Copies the queue, where it has changed since it was copied last. Blocks for as long as it takes to read and write all of
  /// it; reading and writing the queue goes on meanwhile.
  ///
  /// The copy is all that the next service has, where the file of the queue was removed meanwhile.
  ///
  /// - Parameter limit: A file of more bytes is not copied.
  /// - Returns: whether there is a copy of all that the queue had when this was called.
  @discardableResult
  package func copyIfChanged(upTo limit: Int64 = .max) throws -> Bool {
    try folder.check()
    let size = try disk.size(of: "\(directory)/\(TransferStore.fileName)")
    try? reserve.restore()
    guard size ?? 0 <= limit else { return false }
    var loss = try files.loss(on: disk)
    let isCurrent = try copied.withLock { copied in
      // By a statement, which fails where the queue was closed meanwhile.
      let changes = try database.writeWithoutTransaction { try Int.fetchOne($0, sql: "SELECT total_changes()") }
      guard changes != copied || loss != nil else { return true }
      guard loss != nil || database.damage == nil else { return false }
      try database.watching {
        let copy = QueueCopy(directory: directory, disk: disk)
        do { try copy.make(of: database, isInPlace: loss == nil) } catch  where loss == nil {
          // Its files may have gone meanwhile, which looks like damage.
          loss = try files.loss(on: disk)
          guard loss != nil else { throw error }
          try copy.make(of: database, isInPlace: false)
        }
      }
      copied = changes
      return true
    }
    if let loss { database.found(loss) }
    return isCurrent
  }

  /// Whether a file of the queue was removed or replaced while it was in use: a copy has what it had.
  package var hasLostFile: Bool { (try? files.loss(on: disk)) != nil }

  /// Looks for damage in a queue of more than so many bytes, one table after the other: each is read in a transaction of its
  /// own, so that the log of the database does not grow for as long as it takes to read all. Blocks.
  package func checkIfLonger(than limit: Int64) throws {
    guard try disk.size(of: "\(directory)/\(TransferStore.fileName)") ?? 0 > limit else { return }
    let tables = try database.read {
      try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    }
    for table in tables where damage == nil {
      let verdict = try database.read { database in
        // The pages that a connection keeps in memory may not be those on the disk.
        try database.execute(sql: "PRAGMA shrink_memory")
        return try String.fetchOne(database, sql: "PRAGMA quick_check(\(table))")
      }
      if let verdict, verdict != "ok" { database.found(verdict) }
    }
  }

  /// The damage that was found while this queue was in use; nil where there is none.
  package var damage: String? { database.damage }

  /// - Parameter handler: Called once, on the thread that finds damage; at once, where that has happened already.
  package func whenDamaged(_ handler: @escaping @Sendable (String) -> Void) { database.whenDamaged(handler) }

  /// Lets the next service set this queue aside: damage was found while it was in use.
  package func condemn(because reason: String, date: Date) throws {
    try folder.check()
    let quarantine = QueueQuarantine(directory: directory, disk: disk)
    guard try quarantine.note() == nil else { return }
    _ = try quarantine.begin(after: nil, reason: reason, date: date)
  }

  /// Does what needs some space, and may take that of the reserve: what the queue is made of again is a part of the queue.
  func makingRoom<Value>(_ work: () throws -> Value) throws -> Value { try reserve.makingRoom(work) }

  /// Throws where the folder of the queue is not in its place.
  func checkFolder() throws { try folder.check() }

  /// Whether the folder of the queue was moved away, or something covers it: it may come back.
  package var isAway: Bool { !folder.isInPlace && !folder.isRemoved }

  /// Moves the log into the database file. Called when the service ends, so that the next one starts at once.
  package func checkpoint() throws {
    _ = try database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
  }

  package func close() throws { try database.close() }
}

package enum TransferStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  case newerVersion(String)
  case taskIdentifierTaken(Int)
  case noSuchSession
  /// It may have gone with its session.
  case transferIsOver(TransferID)
  case tooManySessions(limit: Int)
  case tooManyTransfers(limit: Int)
  /// The records of an app's tasks, with `adding` more bytes.
  case tooManyBytes(used: Int64, adding: Int64, limit: Int64)

  package var description: String {
    switch self {
    case .newerVersion(let path): "\(path) was written by a newer version of this service; update the service"
    case .taskIdentifierTaken(let identifier): "there is a task \(identifier) in that session already"
    case .noSuchSession: "the session is not known any more"
    case .transferIsOver(let id): "transfer \(id) is over"
    case .tooManyTransfers(let limit):
      "The app has as many background tasks as it may, \(limit); finish or cancel some before adding more."
    case .tooManyBytes(let used, let count, let limit):
      "The records of the app's background tasks take \(used) bytes, and its quota is \(limit); finish or cancel some tasks "
        + "before adding \(count) more bytes."
    case .tooManySessions(let limit):
      "the app has as many background sessions with tasks as it may, \(limit); finish, cancel or invalidate some"
    }
  }
}

import Foundation
import GRDB

/// The rows of a damaged queue that can still be read, table by table: a page that can't be read costs its own rows only.
struct QueueSalvage {
  private let connection: DatabaseQueue
  private let path: String

  /// A task as the indexes name it, which lie in other pages than its row.
  struct TaskName: Equatable {
    var id: TransferID
    var session: SessionID
    var taskIdentifier: Int
    var token: String
  }

  /// nil when it is no queue, or one of a newer version of the service.
  ///
  /// - Parameter path: a duplicate, which may be changed: a queue of an earlier version gets the tables of this one.
  init?(_ path: String) throws {
    self.path = path
    do {
      connection = try QueueFile.open(path, checksReferences: false)
      guard try connection.read({ try $0.tableExists("transfers") }) else { return nil }
    } catch let error as DatabaseError where !error.isOfTheMachine { return nil }
    // Rows that are missing by the damage are no reason against new columns.
    let migrator = TransferSchema.migrator.disablingDeferredForeignKeyChecks()
    do {
      guard try connection.read({ try !migrator.hasBeenSuperseded($0) }) else { return nil }
      try migrator.migrate(connection)
    } catch let error as DatabaseError where !error.isOfTheMachine {
      // Then the tables are as they were: columns that are missing have their defaults in the new queue.
    }
  }

  func close() { try? connection.close() }

  /// How often rows are looked for behind ones that can't be read. Of a table of which nothing can be read the page is lost
  /// that leads to all others, and a look takes as long as one that finds something.
  private struct Patience {
    private var left = 1_000
    private var hasFound = false

    mutating func found() {
      guard !hasFound else { return }
      (left, hasFound) = (20_000, true)
    }

    /// Whether another look is worth it.
    mutating func missed() -> Bool {
      left -= 1
      return left > 0
    }
  }

  /// - Parameter use: called with each row; more than once with some of a damaged table.
  /// - Returns: whether every row could be read.
  func readRows(of table: String, _ use: (Row) throws -> Void) throws -> Bool {
    var patience = Patience()
    // Without a transaction: SQLite fails the commit of one in which damage was found.
    return try connection.unsafeRead { database in
      try QueueSalvage.read(table, 1...(1 << 60), database, &patience, use)
    }
  }

  /// Halves a range that can't be read until what can be read of it was.
  private static func read(
    _ table: String, _ range: ClosedRange<Int64>, _ database: Database, _ patience: inout Patience,
    _ use: (Row) throws -> Void
  ) throws -> Bool {
    var next = range.lowerBound
    do {
      let rows = try Row.fetchCursor(
        database, sql: "SELECT * FROM \(table) WHERE id BETWEEN ? AND ? ORDER BY id",
        arguments: [range.lowerBound, range.upperBound])
      while let row = try rows.next() {
        guard let id = Int64.fromDatabaseValue(row["id"]) else { continue }
        patience.found()
        do { try use(row) } catch { throw UseFailure(error: error) }
        next = id + 1
      }
      return true
    } catch let failure as UseFailure { throw failure.error } catch let error as DatabaseError
      where error.isOfTheMachine
    {
      throw error
    } catch {
      // A queue of an earlier version that could not be changed lacks tables.
      if let error = error as? DatabaseError, error.resultCode == .SQLITE_ERROR { return false }
      guard patience.missed(), next < range.upperBound else { return false }
      let middle = next + (range.upperBound - next) / 2
      _ = try read(table, next...middle, database, &patience, use)
      _ = try read(table, middle + 1...range.upperBound, database, &patience, use)
      return false
    }
  }

  private struct UseFailure: Error { let error: any Error }

  /// The rows of a table that SQLite reads, though the end of their records is damaged.
  func rowsWithDamagedEnds(of table: String) throws -> Set<Int64> {
    let root = try readable {
      try Int.fetchOne(
        $0, sql: "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [table])
    }
    guard let root = root ?? nil else { return [] }
    // Moves all that is in the log into the file.
    do {
      _ = try connection.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    } catch let error as DatabaseError where !error.isOfTheMachine { return [] }
    return try LongRecords(path)?.damagedRows(from: root) ?? []
  }

  /// nil when not all events can be read.
  func events() throws -> [Row]? { try readable { try Row.fetchAll($0, sql: "SELECT * FROM events") } }

  /// All tasks, also those whose rows can't be read; nil when the indexes can't be read.
  func taskNames() throws -> [TaskName]? {
    try readable { database in
      // Each of the two is a copy of these columns: the table is not touched.
      let tokens = try Row.fetchAll(
        database, sql: "SELECT id, token FROM transfers INDEXED BY sqlite_autoindex_transfers_2")
      let byID = Dictionary(
        tokens.compactMap { row in
          Int64.fromDatabaseValue(row["id"]).flatMap { id in String.fromDatabaseValue(row["token"]).map { (id, $0) } }
        }
      ) { first, _ in first }
      return try Row.fetchAll(
        database, sql: "SELECT id, session, taskIdentifier FROM transfers INDEXED BY sqlite_autoindex_transfers_1"
      ).compactMap { row in
        guard let id = Int64.fromDatabaseValue(row["id"]), let session = Int64.fromDatabaseValue(row["session"]),
          let task = Int.fromDatabaseValue(row["taskIdentifier"])
        else { return nil }
        return TaskName(id: id, session: session, taskIdentifier: task, token: byID[id] ?? "lost-\(id)")
      }
    }
  }

  /// The highest number that a transfer has had; nil where that can't be read.
  func highestTransfer() throws -> TransferID? {
    try readable { try TransferNumbers.highestGiven(in: $0) } ?? nil
  }

  /// How many recorded changes it has had; nil where that can't be read.
  func recordedChanges() throws -> Int64? { try readable { try QueueNumbers.changes(in: $0) } }

  struct Name {
    var id: Int64
    /// The app of a session; 0 for an app.
    var app: AppID
    /// The path of an app, or the identifier of a session.
    var text: String
  }

  /// All apps and all sessions, by their indexes; nil when these can't be read.
  func appNames() throws -> [Name]? {
    try names("SELECT id, 0 AS app, path AS text FROM apps INDEXED BY sqlite_autoindex_apps_1")
  }

  func sessionNames() throws -> [Name]? {
    try names("SELECT id, app, identifier AS text FROM sessions INDEXED BY sqlite_autoindex_sessions_1")
  }

  private func names(_ sql: String) throws -> [Name]? {
    try readable { database in
      try Row.fetchAll(database, sql: sql).compactMap { row in
        guard let id = Int64.fromDatabaseValue(row["id"]), let app = Int64.fromDatabaseValue(row["app"]),
          let text = String.fromDatabaseValue(row["text"])
        else { return nil }
        return Name(id: id, app: app, text: text)
      }
    }
  }

  private func readable<Value>(_ work: (Database) throws -> Value) throws -> Value? {
    do { return try connection.read(work) } catch let error as DatabaseError {
      guard !error.isOfTheMachine else { throw error }
      return nil
    }
  }
}

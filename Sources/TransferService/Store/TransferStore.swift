import Foundation
import GRDB
import SystemServices
import TransferProtocol

/// The durable queue: apps, sessions, transfers and the events that wait to be acknowledged, in SQLite.
///
/// Every write is one transaction that is on the disk when the call returns (WAL with `synchronous=FULL`). Calls
/// block, and may come from any thread.
package final class TransferStore: Sendable {
  let database: DatabasePool
  /// Why an earlier queue was set aside when this one was opened; nil when it was not.
  package let quarantine: Quarantine?

  package struct Quarantine: Sendable, Equatable {
    /// The folder that the old queue is in now.
    package var path: String
    package var reason: String
  }

  private init(database: DatabasePool, quarantine: Quarantine?) {
    self.database = database
    self.quarantine = quarantine
  }

  package static let fileName = "queue.sqlite"

  /// Opens the queue in `directory`, or makes one. A queue that is damaged is moved into a folder beside it, with the
  /// files of its transfers and the reason in a file, and a new one is begun, whose numbers are none of the old ones. That
  /// goes on where a service was killed in the middle of it. Other failures (no space, no permission, a newer version's
  /// queue) are thrown: they say nothing against the data.
  package static func open(
    in directory: String, date: Date = Date(), disk: any DurableFileSystem = LinuxFileSystem()
  ) throws -> TransferStore {
    let path = "\(directory)/\(fileName)"
    let quarantine = QueueQuarantine(directory: directory, disk: disk)
    var note = try quarantine.note()
    if let note, try quarantine.hasQueue(note) { try quarantine.move(note) }
    let database: DatabasePool
    do { database = try openDatabase(path) } catch let error as DatabaseError where damage.contains(error.resultCode) {
      let begun = try quarantine.begin(after: note, reason: "\(error)", date: date)
      try quarantine.move(begun)
      note = begun
      database = try openDatabase(path)
    }
    guard let note else { return TransferStore(database: database, quarantine: nil) }
    try raiseNumbers(above: note.highest, in: database)
    try quarantine.end()
    guard try quarantine.hasQueue(note) else { return TransferStore(database: database, quarantine: nil) }
    return TransferStore(database: database, quarantine: Quarantine(path: note.folder, reason: note.reason))
  }

  private static func raiseNumbers(above highest: TransferID, in pool: DatabasePool) throws {
    try pool.write { database in
      let present = try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'transfers'")
      guard present ?? 0 < highest else { return }
      try database.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'transfers'")
      try database.execute(
        sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('transfers', ?)", arguments: [highest])
    }
  }

  private static let damage: [ResultCode] = [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT]

  private static func openDatabase(_ path: String) throws -> DatabasePool {
    try check(path)
    var configuration = Configuration()
    configuration.label = "queue"
    configuration.busyMode = .timeout(5)
    let pool = try DatabasePool(path: path, configuration: configuration)
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
    return pool
  }

  /// Looks for damage before anything is written, so that what is set aside is what was found.
  private static func check(_ path: String) throws {
    guard try LinuxFileSystem().size(of: path) != nil else { return }
    let connection = try DatabaseQueue(path: path)
    let verdict = try connection.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") } ?? "no answer"
    try connection.close()
    guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
  }

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
  case tooManySessions(limit: Int)

  package var description: String {
    switch self {
    case .newerVersion(let path): "\(path) was written by a newer version of this service; update the service"
    case .taskIdentifierTaken(let identifier): "there is a task \(identifier) in that session already"
    case .noSuchSession: "the session is not known any more"
    case .tooManySessions(let limit):
      "the app has as many background sessions with tasks as it may, \(limit); finish or invalidate some"
    }
  }
}

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
  /// files of its transfers and the reason in a file, and a new one is begun, whose numbers are none of the old ones.
  /// Other failures (no space, no permission, a newer version's queue) are
  /// thrown: they say nothing against the data.
  package static func open(in directory: String, date: Date = Date()) throws -> TransferStore {
    let path = "\(directory)/\(fileName)"
    do {
      return TransferStore(database: try openDatabase(path), quarantine: nil)
    } catch let error as DatabaseError where damage.contains(error.resultCode) {
      let highest = try highestNumber(in: directory)
      let quarantine = try setAside(path, in: directory, reason: "\(error)", date: date)
      let database = try openDatabase(path)
      try database.write {
        try $0.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('transfers', ?)", arguments: [highest])
      }
      return TransferStore(database: database, quarantine: quarantine)
    }
  }

  private static let folders = [TransferFiles.partialName, TransferFiles.completeName, TransferFiles.deliveryName]

  /// The highest number of a transfer that has a file.
  private static func highestNumber(in directory: String) throws -> TransferID {
    let disk = LinuxFileSystem()
    let names = try folders.map { "\(directory)/\($0)" }.filter { try disk.size(of: $0) != nil }
      .flatMap { try disk.names(in: $0) }
    // Numbers are small; one near the end of their range is not ours and would leave no room.
    return names.compactMap { TransferID($0.prefix { $0 != "." }) }.filter { $0 < 1 << 60 }.max() ?? 0
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
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    let migrator = TransferSchema.migrator
    guard try pool.read({ try !migrator.hasBeenSuperseded($0) }) else { throw TransferStoreError.newerVersion(path) }
    try migrator.migrate(pool)
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

  private static func setAside(_ path: String, in directory: String, reason: String, date: Date) throws -> Quarantine {
    let disk = LinuxFileSystem()
    let folder = "\(directory)/quarantine/\(Int(date.timeIntervalSince1970))-\(UUID().uuidString.prefix(8))"
    try disk.createDirectory(folder)
    for suffix in ["", "-wal", "-shm"] where try disk.size(of: path + suffix) != nil {
      try disk.rename(path + suffix, to: "\(folder)/\(fileName)\(suffix)")
    }
    // A person may have use for received bytes. Files that apps may be reading stay where they are.
    for name in [TransferFiles.partialName, TransferFiles.completeName]
    where try disk.size(of: "\(directory)/\(name)") != nil {
      try disk.rename("\(directory)/\(name)", to: "\(folder)/\(name)")
    }
    try Data("The queue could not be opened and was set aside: \(reason)\n".utf8)
      .write(to: URL(fileURLWithPath: "\(folder)/reason.txt"))
    try disk.syncDirectory(folder)
    try disk.syncDirectory(directory)
    return Quarantine(path: folder, reason: reason)
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

import GRDB
import Synchronization

/// Reads files of queues, one after the other, over one connection that stays open.
///
/// The end of a connection of GRDB runs on a global queue of Dispatch, which from then on looks at its threads each second: a
/// service that opened and closed one for each copy of its queue could not rest.
final class QueueReader: Sendable {
  /// The name of the file's tables within the connection.
  static let schema = "file"

  private let connection = Mutex<DatabaseQueue?>(nil)

  /// Two reads at the same time have a connection each, of which one stays.
  ///
  /// - Parameter work: called with a connection that only reads the file, outside a transaction. A file that is not there is
  ///   not made.
  func withFile<Value>(_ path: String, _ work: (Database) throws -> Value) throws -> Value {
    do { return try withAttached(path, work) } catch let error as DatabaseError
      where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
    {
      // A process that was killed has left a transaction in a journal beside the file, as the first one of a queue is. Only a
      // connection that writes takes it back.
      try QueueFile.open(path).close()
      return try withAttached(path, work)
    }
  }

  private func withAttached<Value>(_ path: String, _ work: (Database) throws -> Value) throws -> Value {
    let connection = try takeConnection() ?? QueueReader.open()
    var isFree = true
    // A connection that can't leave its file is not used for another one.
    defer { if isFree { self.connection.withLock { $0 = connection } } }
    return try connection.writeWithoutTransaction { database in
      try QueueReader.attach(path, to: database)
      isFree = false
      let result = Result { try work(database) }
      try database.execute(sql: "DETACH DATABASE \(QueueReader.schema)")
      isFree = true
      return try result.get()
    }
  }

  private static func attach(_ path: String, to database: Database) throws {
    do {
      try database.execute(sql: "ATTACH DATABASE ? AS \(schema)", arguments: [path])
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // The first page says that text has another encoding, or tables another format, than those of any queue.
      throw DatabaseError(resultCode: .SQLITE_NOTADB, message: error.message)
    }
  }

  private func takeConnection() -> DatabaseQueue? {
    connection.withLock { kept in
      defer { kept = nil }
      return kept
    }
  }

  /// It has no file of its own. The files that it attaches are opened as it is: for reading alone.
  private static func open() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "queue file"
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(named: nil, configuration: configuration)
  }
}

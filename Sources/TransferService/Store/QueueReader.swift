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
    let connection = try takeConnection() ?? QueueReader.open()
    var isFree = true
    // A connection that can't leave its file is not used for another one.
    defer { if isFree { self.connection.withLock { $0 = connection } } }
    return try connection.writeWithoutTransaction { database in
      try database.execute(sql: "ATTACH DATABASE ? AS \(QueueReader.schema)", arguments: [path])
      isFree = false
      let result = Result { try work(database) }
      try database.execute(sql: "DETACH DATABASE \(QueueReader.schema)")
      isFree = true
      return try result.get()
    }
  }

  private func takeConnection() -> DatabaseQueue? {
    connection.withLock { kept in
      defer { kept = nil }
      return kept
    }
  }

  /// It has no file of its own. Whether it may write is that of the files that it attaches.
  private static func open() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "queue file"
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(named: nil, configuration: configuration)
  }
}

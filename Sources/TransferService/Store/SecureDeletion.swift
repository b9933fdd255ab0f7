import GRDB

/// Overwrites what the queue forgets. Rows hold URLs, header fields and bodies, and a row that is deleted or made shorter
/// would leave them in the file, in free pages and between rows, until other rows need the place.
///
/// The cost: a commit that frees whole pages, those of a long body above all, writes these pages as well. Others write
/// the pages that they change, as before. The log beside the file has earlier values until it is written over, and no
/// longer than the service runs.
enum SecureDeletion {
  /// In the file's `user_version`: nothing in it is older than this rule.
  private static let mark = 1

  /// Called with the connection that writes, before its first write. SQLite forgets the setting with the connection, and
  /// not every build of it has it from the start.
  static func begin(_ database: Database) throws {
    // It answers with the setting, so it is a query.
    _ = try Int.fetchOne(database, sql: "PRAGMA secure_delete = ON")
    let isEmpty = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM sqlite_master") == 0
    if isEmpty { try setMark(database) }
  }

  /// Clears what earlier versions of the service left, once: the file is written anew. That takes as long as the queue is
  /// large, and its size once more on the disk. Where there is no room for it, the next start does it.
  static func clearRemains(in pool: DatabasePool) throws {
    do {
      try pool.writeWithoutTransaction { database in
        guard try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0 < mark else { return }
        try database.execute(sql: "VACUUM")
        try setMark(database)
        try database.checkpoint(.truncate)
      }
    } catch let error as DatabaseError where mayPass.contains(error.resultCode) { return }
  }

  private static let mayPass: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_NOMEM]

  private static func setMark(_ database: Database) throws {
    try database.execute(sql: "PRAGMA user_version = \(mark)")
  }
}

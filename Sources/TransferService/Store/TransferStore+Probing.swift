import GRDB

extension TransferStore {
  /// Commits a change that changes nothing. Throws what keeps the queue from being written.
  func probe() throws {
    try database.write { database in
      let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      try database.execute(sql: "PRAGMA user_version = \(version)")
    }
  }
}

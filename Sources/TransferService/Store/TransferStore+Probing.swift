import GRDB

extension TransferStore {
  /// The disk can be used again: what has given way on a full one is made anew where there is room.
  func restoreReserve() { try? reserve.restore() }

  /// Commits a change that changes nothing. Throws what keeps the queue from being written.
  func probe() throws {
    try database.write { database in
      let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      try database.execute(sql: "PRAGMA user_version = \(version)")
    }
  }
}

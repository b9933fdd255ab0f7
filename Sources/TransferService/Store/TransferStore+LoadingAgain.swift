import GRDB
import SystemServices

extension TransferStore {
  /// A finished download begins anew, with nothing of what it had: its events go, and it is active.
  ///
  /// - Parameters:
  ///   - started: when its time begins.
  ///   - ended: see `QueueDatabase.write`. Called with the number of events that went; 0, and nothing has changed, where the app
  ///     has the file.
  func loadAgain(
    _ transfer: TransferID, started: DurableInstant, ended: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Int = { database in
      guard
        try Bool.fetchOne(
          database,
          sql: "SELECT EXISTS (SELECT 1 FROM events WHERE transfer = ? AND kind = 'finishedDownloading')",
          arguments: [transfer]) == true
      else { return 0 }
      try database.execute(sql: "DELETE FROM events WHERE transfer = ?", arguments: [transfer])
      let removed = database.changesCount
      try database.execute(
        sql: """
          UPDATE transfers SET state = 'active', finished = NULL, failure = NULL, response = NULL, validator = NULL,
            committedOffset = 0, expectedTotal = -1, failures = 0, crashes = 0, held = 0, started = ? WHERE id = ?
          """,
        arguments: [JSONStored.encode(started), transfer])
      return removed
    }
    database.write(change, ended: ended)
  }
}

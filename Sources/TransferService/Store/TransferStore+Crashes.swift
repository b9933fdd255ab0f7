import GRDB

extension TransferStore {
  /// The service crashed while it ran these transfers.
  package func countCrash(of transfers: Set<TransferID>) throws {
    try database.write { database in
      let update = try database.makeStatement(
        sql: "UPDATE transfers SET crashes = crashes + 1 WHERE id = ? AND state <> 'completed'")
      for id in transfers { try update.execute(arguments: [id]) }
    }
  }

  /// - Parameter ended: see `QueueDatabase.write`.
  package func forgetCrashes(
    of transfer: TransferID, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = {
      try $0.execute(sql: "UPDATE transfers SET crashes = 0 WHERE id = ?", arguments: [transfer])
    }
    database.write(change, ended: ended)
  }
}

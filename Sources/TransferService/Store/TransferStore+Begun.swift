import GRDB

extension TransferStore {
  /// Whether the server of a download may have its request, which does harm when it arrives twice.
  package func setBegun(_ isBegun: Bool, of transfer: TransferID) throws {
    try database.write { try TransferStore.setBegun(isBegun, of: transfer, in: $0) }
  }

  static func setBegun(_ isBegun: Bool, of transfer: TransferID, in database: Database) throws {
    try database.execute(
      sql: "UPDATE transfers SET begun = ? WHERE id = ? AND state <> 'completed'", arguments: [isBegun, transfer])
  }
}

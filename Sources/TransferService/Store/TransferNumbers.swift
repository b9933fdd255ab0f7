import GRDB

/// The numbers of transfers, of which a queue uses none again.
enum TransferNumbers {
  /// Numbers are small; one near the end of their range is not ours and would leave no room.
  static let end: TransferID = 1 << 60

  /// The highest number that a queue has given away; nil where it has given none, or has something else in that place.
  ///
  /// - Parameter schema: The name of the queue in the connection, where it is not the only one.
  static func highestGiven(in database: Database, schema: String? = nil) throws -> TransferID? {
    let table = schema.map { "\($0).sqlite_sequence" } ?? "sqlite_sequence"
    let value = try DatabaseValue.fetchOne(database, sql: "SELECT seq FROM \(table) WHERE name = 'transfers'")
    return value.flatMap { TransferID.fromDatabaseValue($0) }
  }
}

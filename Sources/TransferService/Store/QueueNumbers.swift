import GRDB

/// How far a queue has come. What is written down beside it once its changes are on the disk says how far that was, so one that has come
/// less far has lost the last of them.
struct QueueNumbers: Sendable, Equatable {
  /// The highest number of a transfer that it has given away.
  var transfer: TransferID = 0
  /// How many transactions it has had with changes that are written down a second time.
  var changes: Int64 = 0

  func isBehind(_ other: QueueNumbers) -> Bool { transfer < other.transfer || changes < other.changes }

  /// The higher one of each.
  func joined(with other: QueueNumbers) -> QueueNumbers {
    QueueNumbers(transfer: max(transfer, other.transfer), changes: max(changes, other.changes))
  }

  /// Without numbers that are none of ours: see `TransferNumbers`.
  var plausible: QueueNumbers {
    QueueNumbers(
      transfer: transfer < TransferNumbers.end ? transfer : 0, changes: changes < TransferNumbers.end ? changes : 0)
  }

  // MARK: In a queue

  /// - Parameter schema: The name of the queue in the connection, where it is not the only one.
  static func changes(in database: Database, schema: String? = nil) throws -> Int64 {
    let table = schema.map { "\($0).firstNumbers" } ?? "firstNumbers"
    do {
      let value = try DatabaseValue.fetchOne(database, sql: "SELECT recordedChanges FROM \(table)")
      return value.flatMap { Int64.fromDatabaseValue($0) } ?? 0
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A queue of an earlier version counts none.
      return 0
    }
  }

  /// Counts a transaction with changes that are written down a second time. Returns the new number; nil where the queue has none.
  static func countChanges(in database: Database) throws -> Int64? {
    try database.cachedStatement(sql: "UPDATE firstNumbers SET recordedChanges = recordedChanges + 1").execute()
    let value = try DatabaseValue.fetchOne(
      database.cachedStatement(sql: "SELECT recordedChanges FROM firstNumbers"))
    return value.flatMap { Int64.fromDatabaseValue($0) }
  }
}

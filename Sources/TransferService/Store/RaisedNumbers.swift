import Foundation
import GRDB

/// The numbers that a queue goes on with after one that was lost: higher than all that were given away.
///
/// The lost queue alone knew which those were. Task identifiers and sequences of events go on from the present time, as the
/// identifiers do that a library gives before it knows the service; numbers of transfers from the highest that is known,
/// with room for those of which nothing is left.
struct RaisedNumbers {
  /// The highest number of a transfer that is known of elsewhere than in the new queue.
  let highest: TransferID
  let date: Date
  /// The highest number of recorded changes that is known of elsewhere than in the new queue.
  var changes: Int64 = 0

  /// More transfers than apps leave with a service between two copies of its queue.
  static let unknownTransfers: TransferID = 100_000

  /// Milliseconds with 1,024 numbers each: below 2⁵³ for two centuries.
  var first: Int64 { Int64(max(0, min(date.timeIntervalSince1970, 1e10)) * 1_000) * 1_024 }

  func write(to pool: DatabasePool) throws {
    try pool.write { database in
      let present = try TransferNumbers.highestGiven(in: database)
      try database.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'transfers'")
      try database.execute(
        sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('transfers', ?)",
        arguments: [max(present ?? 0, highest) + RaisedNumbers.unknownTransfers])
      try database.execute(
        sql: """
          UPDATE firstNumbers SET taskIdentifier = MAX(taskIdentifier, :first), sequence = MAX(sequence, :first);
          UPDATE apps SET firstTaskIdentifier = MAX(firstTaskIdentifier, :first),
            firstSequence = MAX(firstSequence, :first);
          UPDATE sessions SET nextTaskIdentifier = MAX(nextTaskIdentifier, :first),
            nextSequence = MAX(nextSequence, :first);
          """,
        arguments: ["first": first])
      // With room for records that are found later, as on a disk that can't be read now.
      try database.execute(
        sql: "UPDATE firstNumbers SET recordedChanges = ?",
        arguments: [max(try QueueNumbers.changes(in: database), changes) + RaisedNumbers.unknownTransfers])
    }
  }
}

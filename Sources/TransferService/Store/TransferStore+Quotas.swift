import Foundation
import GRDB
import TransferProtocol

extension TransferStore {
  /// Room for records of an app's tasks, which is looked for when they are written.
  package struct QueueRoom: Sendable {
    package let app: AppID
    /// Bytes of the new records.
    package let count: Int64
    /// How many bytes the app's records may have.
    package let limit: Int64
  }

  /// Refuses new records for which there is no room. The app's history goes first.
  ///
  /// - Returns: the bytes of the app's records with the new ones.
  static func take(_ room: QueueRoom, in database: Database) throws -> Int64 {
    var used = try queueBytes(of: room.app, in: database)
    if room.count > room.limit - used {
      try forgetHistory(of: room.app, in: database)
      used = try queueBytes(of: room.app, in: database)
    }
    guard room.count <= room.limit - used else {
      throw TransferStoreError.tooManyBytes(used: used, adding: room.count, limit: room.limit)
    }
    return used.saturatingAdd(room.count)
  }

  /// Bytes that an app's tasks take in the queue: their descriptions, the heads of their responses, their ends, and those of
  /// tasks that are history.
  private static func queueBytes(of app: AppID, in database: Database) throws -> Int64 {
    let columns = ["description", "sealedRequest", "response", "validator", "upload", "failure", "lastFailure"]
    let row = columns.map { "COALESCE(LENGTH(\($0)), 0)" }.joined(separator: " + ")
    return try Int64.fetchOne(
      database,
      sql: """
        SELECT COALESCE((SELECT SUM(\(row)) FROM transfers JOIN sessions ON sessions.id = transfers.session
            WHERE sessions.app = :app), 0)
          + COALESCE((SELECT SUM(LENGTH(completion)) FROM events JOIN sessions ON sessions.id = events.session
            WHERE sessions.app = :app), 0)
        """,
      arguments: ["app": app]) ?? 0
  }

  /// Forgets the tasks of an app that are history.
  private static func forgetHistory(of app: AppID, in database: Database) throws {
    try database.execute(
      sql: "DELETE FROM transfers WHERE acknowledged = 1 AND session IN (SELECT id FROM sessions WHERE app = ?)",
      arguments: [app])
  }

  /// Bytes of the copies of an app's files that are to be sent.
  func uploadBytes(of app: AppID) throws -> Int64 {
    try database.read { database in
      let uploads = try Data.fetchAll(
        database,
        sql: """
          SELECT upload FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE sessions.app = ? AND state <> 'completed' AND upload IS NOT NULL
          """,
        arguments: [app])
      return uploads.compactMap { try? MessageFraming.decode(StoredUpload.self, from: $0) }
        .filter { $0.copyName != nil }.reduce(0) { $0.saturatingAdd(max(0, $1.size)) }
    }
  }

  /// Bytes of an app's parts, and of its files and the parts of failed downloads that it has not taken.
  ///
  /// - Parameter running: Transfers that are left out.
  func fileBytes(of app: AppID, without running: [TransferID] = []) throws -> Int64 {
    try database.read {
      try Int64.fetchOne(
        $0,
        sql: """
          SELECT SUM(committedOffset) FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE sessions.app = ? AND acknowledged = 0 AND (state <> 'completed' OR EXISTS (
            SELECT 1 FROM events WHERE events.transfer = transfers.id
              AND (kind = 'finishedDownloading' OR \(TransferStore.hasResumePoint))))
            AND transfers.id NOT IN (\(running.map(String.init).joined(separator: ",")))
          """,
        arguments: [app]) ?? 0
    }
  }
}

import Foundation
import GRDB
import TransferProtocol

extension TransferStore {
  /// Bytes of the descriptions of an app's tasks that are not over, or not wholly told. Tasks that are being written at this
  /// moment are waited for, and count.
  func descriptionBytes(of app: AppID) throws -> Int64 {
    try database.write {
      try Int64.fetchOne(
        $0,
        sql: """
          SELECT SUM(LENGTH(description) + COALESCE(LENGTH(sealedRequest), 0)) FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE sessions.app = ? AND acknowledged = 0
          """,
        arguments: [app]) ?? 0
    }
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
        .filter { $0.copy != nil }.reduce(0) { $0.saturatingAdd(max(0, $1.size)) }
    }
  }

  /// Bytes of an app's parts, and of its files that it has not taken.
  func fileBytes(of app: AppID) throws -> Int64 {
    try database.read {
      try Int64.fetchOne(
        $0,
        sql: """
          SELECT SUM(committedOffset) FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE sessions.app = ? AND acknowledged = 0 AND (state <> 'completed' OR EXISTS (
            SELECT 1 FROM events WHERE events.transfer = transfers.id AND kind = 'finishedDownloading'))
          """,
        arguments: [app]) ?? 0
    }
  }
}

import Foundation
import GRDB

extension TransferStore {
  struct AbsentApp: Sendable, Equatable, Decodable, FetchableRecord {
    var id: AppID
    var path: String
    /// Days on which the service ran and the app did not connect.
    var unseenDays: Int
  }

  /// Counts a day of absence for each app, once a day. A clock that is set wrong counts for one day at most.
  ///
  /// - Parameters:
  ///   - present: Apps that are connected. They begin to be absent when they leave.
  ///   - ended: see `QueueDatabase.write`.
  func countAbsence(
    at date: Date, present: Set<AppID> = [], ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let now = date.timeIntervalSince1970
    let change: @Sendable (Database) throws -> Void = { database in
      for app in present {
        try database.execute(
          sql: """
            UPDATE apps SET unseenDays = 0, counted = :now
            WHERE id = :app AND (unseenDays > 0 OR counted IS NULL OR ABS(:now - counted) >= 86400)
            """,
          arguments: ["now": now, "app": app])
      }
      try database.execute(
        sql: """
          UPDATE apps SET unseenDays = unseenDays + (counted IS NOT NULL), counted = :now
          WHERE counted IS NULL OR ABS(:now - counted) >= 86400
          """,
        arguments: ["now": now])
    }
    database.write(change, ended: ended)
  }

  /// Apps that were absent for so many days, and have tasks, events or files here.
  func absentApps(for days: Int) throws -> [AbsentApp] {
    try database.read { database in
      try AbsentApp.fetchAll(
        database,
        sql: """
          SELECT id, path, unseenDays FROM apps WHERE unseenDays >= ? AND EXISTS (
            SELECT 1 FROM transfers JOIN sessions ON sessions.id = transfers.session
            WHERE sessions.app = apps.id AND acknowledged = 0)
          """,
        arguments: [days])
    }
  }

  /// A finished file that the app has not taken.
  struct UndeliveredFile: Sendable, Equatable, Decodable, FetchableRecord {
    var transfer: TransferID
    var session: SessionID
  }

  func undeliveredFiles(of app: AppID) throws -> [UndeliveredFile] {
    try database.read { database in
      try UndeliveredFile.fetchAll(
        database,
        sql: """
          SELECT events.transfer, events.session FROM events JOIN sessions ON sessions.id = events.session
          WHERE sessions.app = ? AND kind = 'finishedDownloading' ORDER BY events.transfer
          """,
        arguments: [app])
    }
  }

  /// Forgets header fields, bodies and passwords of tasks that are over, and of which the app has not been told.
  ///
  /// - Parameter ended: see `QueueDatabase.write`.
  func forgetRequests(ofEndedTasksOf app: AppID, ended: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    let change: @Sendable (Database) throws -> Void = {
      try $0.execute(
        sql: """
          UPDATE transfers SET sealedRequest = NULL, password = NULL, validator = NULL
          WHERE state = 'completed' AND acknowledged = 0 AND session IN (SELECT id FROM sessions WHERE app = ?)
            AND COALESCE(sealedRequest, password, validator) IS NOT NULL
          """,
        arguments: [app])
    }
    database.write(change, ended: ended)
  }

  /// nil where the queue knows no such app.
  func unseenDays(of app: AppID) throws -> Int? {
    try database.read { try Int.fetchOne($0, sql: "SELECT unseenDays FROM apps WHERE id = ?", arguments: [app]) }
  }

  func sessions(of app: AppID) throws -> [SessionID] {
    try database.read {
      try Int64.fetchAll($0, sql: "SELECT id FROM sessions WHERE app = ? ORDER BY id", arguments: [app])
    }
  }
}

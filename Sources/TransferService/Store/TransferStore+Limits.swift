import Foundation
import GRDB

/// The limits of bandwidth, which last until they are changed or their subject is forgotten.
extension TransferStore {
  /// - Parameter ended: see `QueueDatabase.write`. A transfer that is over is not changed, nor is a session that is not known
  ///   any more, and that is an error.
  package func setLimits(
    _ table: LimitTable, of subject: LimitSubject, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = { database in
      try TransferStore.setLimits(table, of: subject, in: database)
      switch subject {
      case .transfer(let id) where database.changesCount == 0: throw TransferStoreError.transferIsOver(id)
      case .session where database.changesCount == 0: throw TransferStoreError.noSuchSession
      default: break
      }
    }
    let record = RecordedChange { [self] in
      try recordedSubject(subject).map { [.limits(table, of: $0)] } ?? []
    }
    database.write(change, recording: record, ended: ended)
  }

  static func setLimits(_ table: LimitTable, of subject: LimitSubject, in database: Database) throws {
    let encoded = table.isEmpty ? nil : try JSONStored.encode(table)
    switch subject {
    // Kept with the description of the transfer, and with the options of the session.
    case .task, .configuration: break
    case .transfer(let id):
      try database.execute(
        sql: "UPDATE transfers SET limits = ? WHERE id = ? AND state <> 'completed'", arguments: [encoded, id])
    case .session(let id):
      try database.execute(sql: "UPDATE sessions SET limits = ? WHERE id = ?", arguments: [encoded, id])
    case .app(let id): try database.execute(sql: "UPDATE apps SET limits = ? WHERE id = ?", arguments: [encoded, id])
    case .service:
      try database.execute(sql: "DELETE FROM serviceLimits")
      if let encoded { try database.execute(sql: "INSERT INTO serviceLimits VALUES (?)", arguments: [encoded]) }
    }
  }

  /// nil where it is not in the queue any more.
  private func recordedSubject(_ subject: LimitSubject) throws -> QueueChange.Subject? {
    switch subject {
    case .task, .configuration: return nil
    case .transfer(let id): return .transfer(id)
    case .service: return .service
    case .session(let id): return try session(id).map { .session($0.identifier, app: $0.executable.path) }
    case .app(let id):
      let path = try database.read {
        try String.fetchOne($0, sql: "SELECT path FROM apps WHERE id = ?", arguments: [id])
      }
      return path.map { .app($0) }
    }
  }

  /// Those of a session, which may be none.
  package func limits(ofSession id: SessionID) throws -> LimitTable {
    try database.read { database in
      let row = try Row.fetchOne(database, sql: "SELECT limits FROM sessions WHERE id = ?", arguments: [id])
      return try row.flatMap { try LimitColumn(row: $0).limits } ?? LimitTable()
    }
  }

  /// Those of the service, of apps, and of transfers that are not over.
  package func limitsBesidesSessions() throws -> [LimitSubject: LimitTable] {
    try database.read { database in
      var tables: [LimitSubject: LimitTable] = [:]
      func add(_ sql: String, _ subject: (Int64) -> LimitSubject) throws {
        for row in try Row.fetchAll(database, sql: sql) {
          if let table = try LimitColumn(row: row).limits { tables[subject(row["id"])] = table }
        }
      }
      try add("SELECT 0 AS id, limits FROM serviceLimits") { _ in .service }
      try add("SELECT id, limits FROM apps WHERE limits IS NOT NULL") { .app($0) }
      try add("SELECT id, limits FROM transfers WHERE limits IS NOT NULL AND state <> 'completed'") { .transfer($0) }
      return tables
    }
  }

  /// The number of a session of the app; nil where there is none of that identifier.
  package func session(_ identifier: String, of app: AppID) throws -> SessionID? {
    try database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT id FROM sessions WHERE app = ? AND identifier = ?", arguments: [app, identifier])
    }
  }

  private struct LimitColumn: Decodable, FetchableRecord {
    @JSONStored var limits: LimitTable?
  }
}

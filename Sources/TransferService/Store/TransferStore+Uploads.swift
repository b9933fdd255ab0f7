import Foundation
import GRDB
import SystemServices
import TransferProtocol

extension TransferStore {
  /// Those of the tokens whose transfers the session has.
  package func known(_ tokens: [String], session: SessionID) throws -> Set<String> {
    try database.read { database in
      let find = try database.makeStatement(sql: "SELECT 1 FROM transfers WHERE session = ? AND token = ?")
      return Set(try tokens.filter { try Int.fetchOne(find, arguments: [session, $0]) != nil })
    }
  }

  /// How far an upload has come, or where its server keeps it.
  package func setUpload(_ upload: StoredUpload, of transfer: TransferID) throws {
    try database.write {
      try $0.execute(
        sql: "UPDATE transfers SET upload = ? WHERE id = ?", arguments: [JSONStored.encode(upload), transfer])
    }
  }

  /// The uploads that are not over.
  package func unfinishedUploads() throws -> [TransferID: StoredUpload] {
    try database.read { database in
      let rows = try UploadRow.fetchAll(
        database, sql: "SELECT id, upload FROM transfers WHERE upload IS NOT NULL AND state <> 'completed'")
      return Dictionary(rows.compactMap { row in row.upload.map { (row.id, $0) } }) { $1 }
    }
  }

  /// The place of an upload that is wholly told is of use to nothing any more, and may give access to it.
  static func forgetUploadPlace(of transfer: TransferID, in database: Database) throws {
    try changeUpload(of: transfer, in: database) { $0.place = nil }
  }

  /// Nothing that was sent counts for another resource.
  ///
  /// - Parameter mayHaveArrived: Whether the last bytes may have left for the new one.
  static func restartUpload(of transfer: TransferID, mayHaveArrived: Bool, in database: Database) throws {
    try changeUpload(of: transfer, in: database) {
      ($0.place, $0.sent) = (nil, 0)
      if !mayHaveArrived { $0.isEnding = nil }
    }
  }

  /// The row may be older than the last try of an upload: its server may have had the whole.
  static func doubtUpload(of transfer: TransferID, in database: Database) throws {
    try changeUpload(of: transfer, in: database) { $0.isEnding = true }
  }

  private static func changeUpload(
    of transfer: TransferID, in database: Database, _ change: (inout StoredUpload) -> Void
  ) throws {
    let row = try UploadRow.fetchOne(
      database, sql: "SELECT id, upload FROM transfers WHERE id = ? AND upload IS NOT NULL", arguments: [transfer])
    guard var upload = row?.upload else { return }
    change(&upload)
    try database.execute(
      sql: "UPDATE transfers SET upload = ? WHERE id = ?", arguments: [JSONStored.encode(upload), transfer])
  }

  private struct UploadRow: Decodable, FetchableRecord {
    var id: TransferID
    @JSONStored var upload: StoredUpload?
  }
}

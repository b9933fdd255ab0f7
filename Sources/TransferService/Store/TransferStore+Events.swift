import Foundation
import GRDB
import TransferProtocol

extension TransferStore {
  package func events(of session: SessionID, after sequence: Int64, limit: Int) throws -> [StoredEvent] {
    try database.read { database in
      let find = try database.cachedStatement(
        sql: StoredEvent.query + " WHERE events.session = ? AND sequence > ? ORDER BY sequence LIMIT ?")
      return try StoredEvent.fetchAll(find, arguments: [session, sequence, limit])
    }
  }

  package func eventCount(of session: SessionID) throws -> Int {
    try database.read {
      try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM events WHERE session = ?", arguments: [session]) ?? 0
    }
  }

  /// Transfers whose file is still to be delivered.
  package func transfersWithUndeliveredFile() throws -> Set<TransferID> {
    try database.read {
      try Int64.fetchSet($0, sql: "SELECT transfer FROM events WHERE kind = 'finishedDownloading'")
    }
  }

  /// The effects of an acknowledgement.
  package struct Acknowledgement: Sendable, Equatable {
    /// How many of the events the queue had.
    package var removed = 0
    /// Transfers whose file the app has taken.
    package var filesTaken: [TransferID] = []
    /// Transfers without further events.
    package var told: [TransferID] = []
    /// Files of resume points that their apps were told of. An app of this version has moved its file away.
    package var resumeFiles: [String] = []
  }

  /// Whether an event has a resume point. It finds the field of a record that was not decoded, and may find a text that looks so.
  static let hasResumePoint = "instr(completion, CAST('\"resumePoint\":{' AS BLOB)) > 0"

  /// Forgets events that the app has handled.
  ///
  /// - Parameter ended: see `QueueDatabase.write`.
  package func acknowledge(
    _ sequences: [Int64], session: SessionID, ended: @escaping @Sendable (Result<Acknowledgement, any Error>) -> Void
  ) {
    database.write(
      { try TransferStore.acknowledge(sequences, session: session, in: $0) }, recording: .byItsCaller, ended: ended)
  }

  private static func acknowledge(_ sequences: [Int64], session: SessionID, in database: Database) throws
    -> Acknowledgement
  {
    var result = Acknowledgement()
    let find = try database.cachedStatement(
      sql: """
        SELECT transfer, kind, CASE WHEN \(hasResumePoint) THEN completion END FROM events
        WHERE session = ? AND sequence = ?
        """)
    let delete = try database.cachedStatement(sql: "DELETE FROM events WHERE session = ? AND sequence = ?")
    let count = try database.cachedStatement(sql: "SELECT COUNT(*) FROM events WHERE transfer = ?")
    for sequence in Set(sequences).sorted() {
      guard let row = try Row.fetchOne(find, arguments: [session, sequence]) else { continue }
      var columns = RowReader(row)
      let transfer: TransferID = try columns.next()
      result.removed += 1
      if StoredEvent.Kind(rawValue: try columns.next()) == .finishedDownloading { result.filesTaken.append(transfer) }
      let completion: Completion? = columns.json()
      if let path = completion?.resumePoint?.path { result.resumeFiles.append(path) }
      try delete.execute(arguments: [session, sequence])
      guard try Int.fetchOne(count, arguments: [transfer]) == 0 else { continue }
      result.told.append(transfer)
      try makeHistory(of: transfer, in: database)
    }
    return result
  }

  /// A transfer that is wholly told stays as history, without the fields of its request, which only a run needs, and those of
  /// its response, which the app has: both may hold credentials.
  private static func makeHistory(of transfer: TransferID, in database: Database) throws {
    try forgetUploadPlace(of: transfer, in: database)
    let find = try database.cachedStatement(
      sql: "SELECT description, response FROM transfers WHERE id = ? AND state = 'completed'")
    guard let row = try Row.fetchOne(find, arguments: [transfer]) else { return }
    var columns = RowReader(row)
    guard let encoded = try columns.optional(Data.self) else { return }
    var response: ResponseSummary? = columns.json()
    response?.headers = []
    response?.sealedHeaders = nil
    guard var description = try? MessageFraming.decode(TransferDescription.self, from: encoded) else {
      return try database.execute(
        sql: """
          UPDATE transfers SET acknowledged = 1, validator = NULL, sealedRequest = NULL, response = ? WHERE id = ?
          """,
        arguments: [JSONStored.encode(response), transfer])
    }
    // An earlier version of the service left the password where it was.
    description.request.url = PasswordURL(description.request.url).url
    description.request.headers = []
    description.request.body = nil
    description.resumePoint = nil
    try database.cachedStatement(
      sql: """
        UPDATE transfers SET acknowledged = 1, validator = NULL, sealedRequest = NULL, response = ?, description = ?
        WHERE id = ?
        """
    ).execute(arguments: [JSONStored.encode(response), MessageFraming.encode(description), transfer])
  }

  /// The file of a finished download is gone before it could be delivered, and the app is told of a failure.
  struct FileLoss: Sendable {
    var transfer: TransferID
    var session: SessionID
    var failure: TransferFailure
  }

  /// The file of a finished download is gone before it could be delivered: its completion becomes a failure.
  ///
  /// - Parameter ended: see `QueueDatabase.write`. Called with the number of events that went.
  package func fileIsLost(
    of transfer: TransferID, session: SessionID, failure: TransferFailure,
    ended: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) {
    let loss = FileLoss(transfer: transfer, session: session, failure: failure)
    database.write(
      { try TransferStore.lose(loss, in: $0) },
      recording: TransferStore.record(of: [(transfer, failure)], at: Date()), ended: ended)
  }

  /// The same of many; see `writeTogether`.
  func filesAreLost(_ losses: [FileLoss], ended: @escaping @Sendable ([Result<Int, any Error>]) -> Void) {
    writeTogether(
      losses, { losses in { database in try losses.map { try TransferStore.lose($0, in: database) } } },
      recording: { losses in
        TransferStore.record(of: losses.lazy.map { ($0.transfer, $0.failure) }, at: Date())
      }, ended: ended)
  }

  private static func lose(_ loss: FileLoss, in database: Database) throws -> Int {
    var removed = 0
    let events = try StoredEvent.fetchAll(
      database, sql: StoredEvent.query + " WHERE events.transfer = ?", arguments: [loss.transfer])
    for event in events {
      switch event.kind {
      case .finishedDownloading:
        try database.execute(
          sql: "DELETE FROM events WHERE session = ? AND sequence = ?", arguments: [loss.session, event.sequence])
        removed += database.changesCount
      case .completed:
        var completion = event.completion
        completion.failure = loss.failure
        try database.execute(
          sql: "UPDATE events SET completion = ? WHERE session = ? AND sequence = ?",
          arguments: [MessageFraming.encode(completion), loss.session, event.sequence])
      }
    }
    try database.execute(
      sql: "UPDATE transfers SET failure = ? WHERE id = ?",
      arguments: [JSONStored.encode(loss.failure), loss.transfer])
    return removed
  }
}

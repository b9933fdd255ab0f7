import Foundation
import GRDB
import HTTPSemantics
import SystemServices
import TransferProtocol

extension TransferStore {
  /// A new transfer with what the scheduler needs taken out of its request.
  package struct NewTransfer: Sendable {
    package var description: TransferDescription
    /// The description's JSON, when the caller has it already.
    package var encoded: Data?
    package var host: String
    package var committedOffset: Int64 = 0
    package var validator: ResumeValidator?

    package init(_ description: TransferDescription, host: String) {
      self.description = description
      self.host = host
    }
  }

  /// Takes all of them or none. A token that is known already stands for the transfer that has it. Returns, in order,
  /// the number of each, and those that are new.
  package func create(_ transfers: [NewTransfer], session: SessionID, date: Date) throws -> (
    ids: [TransferID], created: Set<TransferID>
  ) {
    // Encoded before the transaction begins, which keeps it short.
    let descriptions = try transfers.map { try $0.encoded ?? MessageFraming.encode($0.description) }
    return try database.write { database in
      let known = try database.makeStatement(sql: "SELECT id FROM transfers WHERE session = ? AND token = ?")
      let insert = try database.makeStatement(
        sql: """
          INSERT INTO transfers (session, taskIdentifier, token, state, host, priority, earliestBegin, description,
            committedOffset, expectedTotal, validator, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """)
      var ids: [TransferID] = []
      var created: Set<TransferID> = []
      var next = try Int.fetchOne(
        database, sql: "SELECT nextTaskIdentifier FROM sessions WHERE id = ?", arguments: [session])
      for (transfer, encoded) in zip(transfers, descriptions) {
        let description = transfer.description
        do {
          try insert.execute(arguments: [
            session, description.taskIdentifier, description.token,
            (description.startsImmediately ? StoredState.active : .suspended).rawValue, transfer.host,
            Double(description.priority), description.earliestBeginDate?.timeIntervalSince1970, encoded,
            transfer.committedOffset, description.resumePoint?.expectedTotal ?? -1,
            try StoredJSON.encode(transfer.validator), date.timeIntervalSince1970,
          ])
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
          guard let id = try Int64.fetchOne(known, arguments: [session, description.token]) else {
            throw TransferStoreError.taskIdentifierTaken(description.taskIdentifier)
          }
          ids.append(id)
          continue
        }
        let id = database.lastInsertedRowID
        ids.append(id)
        created.insert(id)
        next = max(next ?? 1, description.taskIdentifier.addingReportingOverflow(1).partialValue)
      }
      try database.execute(
        sql: "UPDATE sessions SET nextTaskIdentifier = ? WHERE id = ?", arguments: [next ?? 1, session])
      return (ids, created)
    }
  }

  // MARK: Reading

  /// All that are not over.
  package func unfinishedHeads(session: SessionID? = nil) throws -> [StoredTransferHead] {
    try database.read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT \(TransferStore.headColumns) FROM transfers WHERE state <> 'completed'"
          + (session == nil ? "" : " AND session = ?") + " ORDER BY id",
        arguments: session.map { [$0] } ?? []
      ).map(TransferStore.head)
    }
  }

  package func transfer(_ id: TransferID) throws -> StoredTransfer? {
    try database.read { database in
      try Row.fetchOne(database, sql: TransferStore.transferQuery + " WHERE transfers.id = ?", arguments: [id])
        .map(TransferStore.transfer)
    }
  }

  /// Of a session: those not over, and those over with events that wait.
  package func sessionTransfers(_ session: SessionID, after taskIdentifier: Int, limit: Int) throws -> [StoredTransfer]
  {
    try database.read { database in
      try Row.fetchAll(
        database,
        sql: TransferStore.transferQuery + """
           WHERE session = ? AND taskIdentifier > ? AND acknowledged = 0 ORDER BY taskIdentifier LIMIT ?
          """,
        arguments: [session, taskIdentifier, limit]
      ).map(TransferStore.transfer)
    }
  }

  package func appTransfers(
    _ app: AppID, after id: TransferID, includingFinished: Bool, limit: Int
  ) throws -> [StoredTransfer] {
    try database.read { database in
      try Row.fetchAll(
        database,
        sql: TransferStore.transferQuery + " WHERE sessions.app = ? AND transfers.id > ?"
          + (includingFinished ? "" : " AND state <> 'completed'") + " ORDER BY transfers.id LIMIT ?",
        arguments: [app, id, limit]
      ).map(TransferStore.transfer)
    }
  }

  /// How many transfers of an app are not over, or not wholly told.
  package func transferCount(of app: AppID) throws -> Int {
    try database.read {
      try Int.fetchOne(
        $0,
        sql: """
          SELECT COUNT(*) FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE sessions.app = ? AND acknowledged = 0
          """,
        arguments: [app]) ?? 0
    }
  }

  // MARK: Changing

  /// Ends a wait for the next try as well.
  package func setState(_ state: StoredState, of transfers: [TransferID]) throws {
    try database.write { database in
      let update = try database.makeStatement(
        sql: "UPDATE transfers SET state = ?, nextAttempt = NULL WHERE id = ? AND state <> 'completed'")
      for id in transfers { try update.execute(arguments: [state.rawValue, id]) }
    }
  }

  package func setDescription(
    _ description: TransferDescription, encoded: Data? = nil, of transfer: TransferID
  ) throws {
    try database.write {
      try $0.execute(
        sql: "UPDATE transfers SET description = ?, priority = ?, earliestBegin = ? WHERE id = ?",
        arguments: [
          encoded ?? MessageFraming.encode(description), Double(description.priority),
          description.earliestBeginDate?.timeIntervalSince1970, transfer,
        ])
    }
  }

  package func setStarted(_ instant: DurableInstant, of transfer: TransferID) throws {
    try database.write {
      try $0.execute(
        sql: "UPDATE transfers SET started = ? WHERE id = ?", arguments: [StoredJSON.encode(instant), transfer])
    }
  }

  package func setRetry(failures: Int, because sentence: String?, at instant: DurableInstant?, of transfer: TransferID)
    throws
  {
    try database.write {
      try $0.execute(
        sql: "UPDATE transfers SET failures = ?, lastFailure = ?, nextAttempt = ? WHERE id = ?",
        arguments: [failures, sentence, StoredJSON.encode(instant), transfer])
    }
  }

  /// What the stored bytes are part of: kept along with the first offset that is committed of them.
  package struct Representation: Sendable {
    package var response: ResponseSummary
    package var validator: ResumeValidator?
    package var expectedTotal: Int64
  }

  /// Says that the first `offset` bytes are on the disk. Only called once they are.
  package func commit(offset: Int64, representation: Representation?, of transfer: TransferID) throws {
    try database.write {
      try $0.execute(
        sql: "UPDATE transfers SET committedOffset = ? WHERE id = ?", arguments: [offset, transfer])
      guard let representation else { return }
      try $0.execute(
        sql: "UPDATE transfers SET response = ?, validator = ?, expectedTotal = ? WHERE id = ?",
        arguments: [
          StoredJSON.encode(representation.response), StoredJSON.encode(representation.validator),
          representation.expectedTotal, transfer,
        ])
    }
  }

  /// Forgets the stored bytes: they are about to be overwritten.
  package func resetProgress(of transfer: TransferID) throws {
    try database.write {
      try $0.execute(
        sql: """
          UPDATE transfers SET committedOffset = 0, response = NULL, validator = NULL, expectedTotal = -1 WHERE id = ?
          """,
        arguments: [transfer])
    }
  }

  // MARK: Rows

  private static let headColumns = """
    transfers.id, transfers.session, taskIdentifier, state, host, priority, earliestBegin, committedOffset,
    expectedTotal, failures, nextAttempt, lastFailure
    """

  private static let transferQuery = """
    SELECT \(headColumns), sessions.app, identifier, token, description, response, validator, started, failure, created,
      finished, acknowledged
    FROM transfers JOIN sessions ON sessions.id = transfers.session
    """

  private static func head(_ row: Row) -> StoredTransferHead {
    StoredTransferHead(
      id: row["id"], session: row["session"], taskIdentifier: row["taskIdentifier"],
      state: StoredState(rawValue: row["state"]) ?? .suspended, host: row["host"],
      priority: Float(row["priority"] as Double),
      earliestBegin: (row["earliestBegin"] as Double?).map { Date(timeIntervalSince1970: $0) },
      committedOffset: row["committedOffset"], expectedTotal: row["expectedTotal"], failures: row["failures"],
      nextAttempt: StoredJSON.readable(DurableInstant.self, from: row["nextAttempt"]),
      lastFailure: row["lastFailure"])
  }

  /// What can't be read in a row stands against that row only, not against the others that are read with it.
  private static func transfer(_ row: Row) -> StoredTransfer {
    let head = head(row)
    let readable = StoredJSON.readable(TransferDescription.self, from: row["description"])
    let description =
      readable
      ?? TransferDescription(
        token: row["token"], taskIdentifier: head.taskIdentifier,
        request: RequestDescription(url: "about:invalid", method: "GET", headers: [], body: nil))
    return StoredTransfer(
      head: head, app: row["app"], sessionIdentifier: row["identifier"], description: description,
      response: StoredJSON.readable(ResponseSummary.self, from: row["response"]),
      validator: StoredJSON.readable(ResumeValidator.self, from: row["validator"]),
      started: StoredJSON.readable(DurableInstant.self, from: row["started"]),
      failure: StoredJSON.readable(TransferFailure.self, from: row["failure"]),
      created: Date(timeIntervalSince1970: row["created"]),
      finished: (row["finished"] as Double?).map { Date(timeIntervalSince1970: $0) },
      isAcknowledged: row["acknowledged"], isDamaged: readable == nil)
  }
}

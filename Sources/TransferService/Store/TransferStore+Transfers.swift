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
    /// The password of the URL, which the description does not have; nil where there is none or no key to seal it.
    package var sealedPassword: Data?
    /// The file of an upload.
    package var upload: StoredUpload?
    /// When its time for the whole resource began; nil until the app wants it.
    package var started: DurableInstant?
    /// The header fields and the body, which the description does not have; nil where there are none.
    package var sealedRequest: Data?

    package init(_ description: TransferDescription, host: String) {
      self.description = description
      self.host = host
    }
  }

  /// The numbers of new transfers.
  package struct Created: Sendable {
    /// In the order of the transfers.
    package var ids: [TransferID] = []
    /// Those that were not known before.
    package var created: Set<TransferID> = []
    /// Bytes of the app's records with these; nil where they were not counted.
    package var usedBytes: Int64?
  }

  /// Takes all of them or none. A token that is known already stands for the transfer that has it.
  package func create(_ transfers: [NewTransfer], session: SessionID, date: Date) throws -> Created {
    try database.write(try TransferStore.change(creating: transfers, session: session, date: date))
  }

  /// The same without waiting for the disk; see `QueueDatabase.write`.
  ///
  /// - Parameters:
  ///   - limit: How many transfers the app may have that are not over, or not wholly told.
  ///   - room: The room that their records need; nil where there is enough.
  package func create(
    _ transfers: [NewTransfer], session: SessionID, limit: Int, room: QueueRoom? = nil, date: Date,
    ended: @escaping @Sendable (Result<Created, any Error>) -> Void
  ) {
    do {
      let change = try TransferStore.change(
        creating: transfers, session: session, limit: limit, room: room, date: date)
      database.write(change, ended: ended)
    } catch { ended(.failure(error)) }
  }

  private static func change(
    creating transfers: [NewTransfer], session: SessionID, limit: Int = .max, room: QueueRoom? = nil, date: Date
  ) throws -> @Sendable (Database) throws -> Created {
    // Encoded before the transaction begins, which keeps it short.
    let descriptions = try transfers.map { try $0.encoded ?? MessageFraming.encode($0.description) }
    return { database in
      let used = try room.map { try take($0, in: database) }
      // Repeating what was created already counts too: the limit is far from what apps have.
      guard try limit == .max || transferCount(ofAppWith: session, in: database) + transfers.count <= limit else {
        throw TransferStoreError.tooManyTransfers(limit: limit)
      }
      var result = Created(usedBytes: used)
      let known = try database.cachedStatement(sql: "SELECT id FROM transfers WHERE session = ? AND token = ?")
      var next = try Int.fetchOne(
        database, sql: "SELECT nextTaskIdentifier FROM sessions WHERE id = ?", arguments: [session])
      for (transfer, encoded) in zip(transfers, descriptions) {
        let description = transfer.description
        do {
          try NewTransferRow(transfer, encoded: encoded, session: session, date: date).insert(database)
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
          guard let id = try Int64.fetchOne(known, arguments: [session, description.token]) else {
            throw TransferStoreError.taskIdentifierTaken(description.taskIdentifier)
          }
          result.ids.append(id)
          continue
        }
        let id = database.lastInsertedRowID
        result.ids.append(id)
        result.created.insert(id)
        next = max(next ?? 1, description.taskIdentifier.addingReportingOverflow(1).partialValue)
      }
      try database.execute(
        sql: "UPDATE sessions SET nextTaskIdentifier = ? WHERE id = ?", arguments: [next ?? 1, session])
      return result
    }
  }

  // MARK: Reading

  /// All that are not over.
  package func unfinishedHeads(session: SessionID? = nil) throws -> [StoredTransferHead] {
    try database.read { database in
      try StoredTransferHead.fetchAll(
        database,
        sql: "SELECT \(StoredTransferHead.columns) FROM transfers WHERE state <> 'completed'"
          + (session == nil ? "" : " AND session = ?") + " ORDER BY id",
        arguments: session.map { [$0] } ?? []
      )
    }
  }

  package func transfer(_ id: TransferID) throws -> StoredTransfer? {
    try database.read { database in
      let find = try database.cachedStatement(sql: StoredTransfer.query + " WHERE transfers.id = ?")
      return try StoredTransfer.fetchOne(find, arguments: [id])
    }
  }

  /// Whether the transfer has ended, or is not known.
  func isOver(_ id: TransferID) throws -> Bool {
    try database.read { database in
      let find = try database.cachedStatement(sql: "SELECT 1 FROM transfers WHERE id = ? AND state <> 'completed'")
      return try Bool.fetchOne(find, arguments: [id]) == nil
    }
  }

  /// Whether there is a row of that number, be the transfer over or not.
  package func has(_ id: TransferID) throws -> Bool {
    try database.read {
      try Bool.fetchOne($0, sql: "SELECT 1 FROM transfers WHERE id = ?", arguments: [id]) ?? false
    }
  }

  /// The transfers of a session that are not over, or over with events that wait.
  package func sessionTransfers(_ session: SessionID, after taskIdentifier: Int, limit: Int) throws -> [StoredTransfer]
  {
    try database.read { database in
      try StoredTransfer.fetchAll(
        database,
        sql: StoredTransfer.query + """
           WHERE session = ? AND taskIdentifier > ? AND acknowledged = 0 ORDER BY taskIdentifier LIMIT ?
          """,
        arguments: [session, taskIdentifier, limit]
      )
    }
  }

  /// - Parameter app: nil means every app.
  package func appTransfers(
    _ app: AppID?, after id: TransferID, includingFinished: Bool, limit: Int
  ) throws -> [ListedTransfer] {
    try database.read { database in
      try ListedTransfer.fetchAll(
        database,
        sql: ListedTransfer.query + " WHERE (:app IS NULL OR sessions.app = :app) AND transfers.id > :after"
          + (includingFinished ? "" : " AND state <> 'completed'") + " ORDER BY transfers.id LIMIT :limit",
        arguments: ["app": app, "after": id, "limit": limit]
      )
    }
  }

  /// Those of the numbers that are of transfers of the app, in ascending order; nil means every app.
  package func transfers(_ ids: Set<TransferID>, of app: AppID?) throws -> [TransferID] {
    try database.read { database in
      let find = try database.makeStatement(
        sql: """
          SELECT transfers.id FROM transfers JOIN sessions ON sessions.id = transfers.session
          WHERE transfers.id = :id AND (:app IS NULL OR sessions.app = :app)
          """)
      return try ids.sorted().filter { try Int64.fetchOne(find, arguments: ["id": $0, "app": app]) != nil }
    }
  }

  /// Whether there are responses that apps have not been told of.
  func hasAnswers() throws -> Bool {
    try database.read {
      try Bool.fetchOne(
        $0, sql: "SELECT EXISTS (SELECT 1 FROM transfers WHERE acknowledged = 0 AND response IS NOT NULL)") ?? false
    }
  }

  /// Whether there are requests with sealed parts.
  package func hasSealedRequests() throws -> Bool {
    try database.read {
      try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM transfers WHERE sealedRequest IS NOT NULL)") ?? false
    }
  }

  /// Whether something that is still needed was sealed with the key of the file.
  func needsFileKey() throws -> Bool {
    let isInRows = try database.read {
      try Bool.fetchOne(
        $0,
        sql: """
          SELECT EXISTS (SELECT 1 FROM transfers
              WHERE state <> 'completed' AND sealedRequest IS NOT NULL AND substr(sealedRequest, 1, 1) = x'02')
            OR EXISTS (SELECT 1 FROM sessions WHERE substr(sealedFields, 1, 1) = x'02'
              AND id IN (SELECT session FROM transfers WHERE state <> 'completed'))
          """) ?? false
    }
    return try isInRows || unfinishedUploads().values.contains { QueueKey.isSealedByFile($0.sealedCopy?.key) }
  }

  /// How many transfers of an app are not over, or not wholly told.
  package func transferCount(of app: AppID) throws -> Int {
    try database.read {
      try Int.fetchOne(
        $0,
        sql: """
          SELECT COUNT(*) FROM transfers WHERE acknowledged = 0 AND session IN (SELECT id FROM sessions WHERE app = ?)
          """,
        arguments: [app]) ?? 0
    }
  }

  /// Of the app that has the session.
  private static func transferCount(ofAppWith session: SessionID, in database: Database) throws -> Int {
    try Int.fetchOne(
      database,
      sql: """
        SELECT COUNT(*) FROM transfers WHERE acknowledged = 0 AND session IN (
          SELECT id FROM sessions WHERE app = (SELECT app FROM sessions WHERE id = ?))
        """,
      arguments: [session]) ?? 0
  }

  // MARK: Changing

  /// Ends a wait for the next try as well, but for one for a busy server.
  ///
  /// - Parameters:
  ///   - started: the beginnings of the times of those that have none.
  ///   - ended: see `QueueDatabase.write`.
  package func setState(
    _ state: StoredState, of transfers: [TransferID], started: [TransferID: DurableInstant] = [:],
    forgettingCrashesFrom count: Int = .max, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let record = RecordedChange(.state(state.rawValue, of: transfers, started: started))
    database.write(
      {
        try TransferStore.setState(
          state, of: transfers, started: started, forgettingCrashesFrom: count, in: $0)
      }, recording: record, ended: ended)
  }

  static func setState(
    _ state: StoredState, of transfers: [TransferID], started: [TransferID: DurableInstant],
    forgettingCrashesFrom count: Int, in database: Database
  ) throws {
    let update = try database.makeStatement(
      sql: """
        UPDATE transfers SET state = ?, nextAttempt = \(PlannedTry.busyServerAlone), started = coalesce(started, ?),
          crashes = CASE WHEN crashes >= ? THEN 0 ELSE crashes END
        WHERE id = ? AND state <> 'completed'
        """)
    let limit = state == .active ? count : .max
    for id in transfers {
      try update.execute(arguments: [state.rawValue, JSONStored.encode(started[id]), limit, id])
    }
  }

  /// - Parameters:
  ///   - encoded: The description's JSON.
  ///   - room: The room that it needs; nil where there is enough.
  ///   - ended: see `QueueDatabase.write`. Called with the bytes of the app's records; nil where they were not counted. A
  ///     transfer that is over is not changed, and that is an error.
  package func setDescription(
    _ description: TransferDescription, encoded: Data, started: DurableInstant? = nil, room: QueueRoom? = nil,
    of transfer: TransferID, ended: @escaping @Sendable (Result<Int64?, any Error>) -> Void
  ) {
    let new = QueueChange.Description(
      transfer: transfer, encoded: encoded, priority: Double(description.priority),
      earliestBegin: description.earliestBeginDate?.timeIntervalSince1970, started: started)
    let change: @Sendable (Database) throws -> Int64? = { database in
      let used = try room.map { try TransferStore.take($0, in: database) }
      try TransferStore.set(new, in: database)
      guard database.changesCount > 0 else { throw TransferStoreError.transferIsOver(transfer) }
      return used
    }
    database.write(change, recording: RecordedChange(.description(new)), ended: ended)
  }

  static func set(_ new: QueueChange.Description, in database: Database) throws {
    try database.execute(
      sql: """
        UPDATE transfers SET description = :description, priority = :priority, earliestBegin = :earliestBegin,
          started = coalesce(:started, started)
        WHERE id = :id AND state <> 'completed'
        """,
      arguments: [
        "description": new.encoded, "priority": new.priority, "earliestBegin": new.earliestBegin,
        "started": JSONStored.encode(new.started), "id": new.transfer,
      ])
  }

  /// - Parameter ended: see `QueueDatabase.write`.
  package func setSealedPassword(
    _ sealed: Data, of transfer: TransferID, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    database.write(
      { try TransferStore.setSealedPassword(sealed, of: transfer, in: $0) },
      recording: RecordedChange(.password(sealed, of: transfer), awaits: .nothing), ended: ended)
  }

  static func setSealedPassword(_ sealed: Data, of transfer: TransferID, in database: Database) throws {
    try database.execute(
      sql: "UPDATE transfers SET password = ? WHERE id = ? AND state <> 'completed'", arguments: [sealed, transfer])
  }

  package func setStarted(_ instants: [TransferID: DurableInstant]) throws {
    try database.write { try TransferStore.setStarted(instants, in: $0) }
  }

  /// - Parameter ended: see `QueueDatabase.write`.
  package func setStarted(
    _ instants: [TransferID: DurableInstant], ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    database.write({ try TransferStore.setStarted(instants, in: $0) }, ended: ended)
  }

  private static func setStarted(_ instants: [TransferID: DurableInstant], in database: Database) throws {
    let update = try database.cachedStatement(sql: "UPDATE transfers SET started = ? WHERE id = ?")
    for (id, instant) in instants { try update.execute(arguments: [JSONStored.encode(instant), id]) }
  }

  /// - Parameter ended: see `QueueDatabase.write`.
  package func setRetry(
    failures: Int, because sentence: String?, at planned: PlannedTry?, of transfer: TransferID,
    ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let retry = QueueChange.Retry(transfer: transfer, failures: failures, sentence: sentence, instant: planned)
    database.write(
      { try TransferStore.set(retry, in: $0) }, recording: RecordedChange(.retry(retry), awaits: .nothing),
      ended: ended)
  }

  static func set(_ retry: QueueChange.Retry, in database: Database) throws {
    try database.execute(
      sql: """
        UPDATE transfers SET failures = :failures, lastFailure = :lastFailure, nextAttempt = :nextAttempt
        WHERE id = :id
        """,
      arguments: [
        "failures": retry.failures, "lastFailure": retry.sentence, "nextAttempt": JSONStored.encode(retry.instant),
        "id": retry.transfer,
      ])
  }

  /// The representation that the stored bytes are part of: kept along with the first offset that is committed of them.
  package struct Representation: Sendable {
    package var response: ResponseSummary
    package var validator: ResumeValidator?
    package var expectedTotal: Int64
  }

  /// Says that the first `offset` bytes are on the disk. Only called once they are.
  package func commit(offset: Int64, representation: Representation?, of transfer: TransferID) throws {
    guard let representation else {
      return try database.write {
        try $0.cachedStatement(sql: "UPDATE transfers SET committedOffset = ? WHERE id = ?")
          .execute(arguments: [offset, transfer])
      }
    }
    // Encoded before the transaction begins, which keeps it short.
    let response = try JSONStored.encode(
      key?.sealed(representation.response, of: transfer) ?? representation.response)
    let validator = try JSONStored.encode(representation.validator)
    try database.write {
      try $0.cachedStatement(
        sql: """
          UPDATE transfers SET committedOffset = ?, response = ?, validator = ?, expectedTotal = ? WHERE id = ?
          """
      ).execute(arguments: [offset, response, validator, representation.expectedTotal, transfer])
    }
  }

  /// Forgets the stored bytes: they are about to be overwritten.
  package func resetProgress(of transfer: TransferID) throws {
    try database.write { try $0.execute(sql: TransferStore.forgettingProgress, arguments: [transfer]) }
  }

  static let forgettingProgress =
    """
    UPDATE transfers SET committedOffset = 0, response = NULL, validator = NULL, expectedTotal = -1
    WHERE id = ? AND state <> 'completed'
    """
}

import Foundation
import GRDB
import SystemServices
import TransferProtocol

/// Makes rows of journals, in a queue that is made anew.
struct JournalRows {
  let files: TransferFiles
  /// The folder that files of lost tasks come into.
  let folder: String
  let bootID: String
  let date: Date

  struct Added {
    /// Transfers that go on with what has arrived, and the URLs that it is from.
    var proven: [TransferID: String] = [:]
    /// Transfers that begin with their first byte: they were created after the last copy.
    var begun: Set<TransferID> = []
    /// Transfers that ended, because their request is not in the journal.
    var lost: [TransferID] = []
  }

  /// - Parameters:
  ///   - records: what was written down of new tasks, and of tasks that are over.
  ///   - current: transfers whose rows say more than their journals.
  ///   - isAlive: whether there may be such a transfer.
  func add(
    _ records: NewTaskFolder.Records, to database: Database, sparing current: Set<TransferID>,
    where isAlive: (TransferID) -> Bool
  ) throws -> Added {
    func isWanted(_ id: TransferID) -> Bool {
      !current.contains(id) && !records.ended.contains(id) && isAlive(id)
    }
    let journals = try files.journals.transfers().filter(isWanted).compactMap { try files.journals.read($0) }
    var added = Added()
    for journal in journals {
      let id = journal.transfer
      if let state = try String.fetchOne(database, sql: "SELECT state FROM transfers WHERE id = ?", arguments: [id]) {
        // The journal goes when its transfer is told, so a row that is over has its events.
        guard state != "completed" else { continue }
      } else {
        let session = try session(of: journal, in: database)
        guard try !isTaken(journal, in: session, database) else { continue }
        guard !journal.lacksFields else {
          try lost(journal, session).insert(into: database, date: date)
          added.lost.append(id)
          continue
        }
        try insert(journal, session, database)
      }
      try addProgress(of: journal, database)
      added.proven[id] = journal.description.request.url
    }
    let known = Set(journals.map(\.transfer))
    let begun = records.journals.filter { isWanted($0.transfer) && !known.contains($0.transfer) }
    for journal in begun where try !has(journal.transfer, in: database) {
      let session = try session(of: journal, in: database)
      guard try !isTaken(journal, in: session, database) else { continue }
      try insert(journal, session, database)
      added.begun.insert(journal.transfer)
    }
    for journal in journals + begun where journal.judgesConnections {
      try database.execute(
        sql: """
          UPDATE sessions SET judgesConnections = 1 WHERE identifier = ? AND app IN (SELECT id FROM apps WHERE path = ?)
          """,
        arguments: [journal.session, journal.program.path])
    }
    return added
  }

  private func has(_ id: TransferID, in database: Database) throws -> Bool {
    try Bool.fetchOne(database, sql: "SELECT 1 FROM transfers WHERE id = ?", arguments: [id]) ?? false
  }

  private func session(of journal: TransferJournal, in database: Database) throws -> SessionID {
    try database.execute(
      sql: "INSERT INTO apps (path, executable) VALUES (?, ?) ON CONFLICT (path) DO NOTHING",
      arguments: [journal.program.path, MessageFraming.encode(journal.program)])
    try database.execute(
      sql: """
        INSERT INTO sessions (app, identifier, options, sealedFields, nextSequence)
        SELECT id, ?, ?, ?, ? FROM apps WHERE path = ?
        ON CONFLICT (app, identifier) DO UPDATE SET options = excluded.options, sealedFields = excluded.sealedFields
          WHERE LENGTH(sessions.options) = 0
        """,
      arguments: [
        journal.session, MessageFraming.encode(journal.options), journal.sealedFields,
        RaisedNumbers(highest: 0, date: date).first, journal.program.path,
      ])
    let id = try Int64.fetchOne(
      database,
      sql: "SELECT sessions.id FROM sessions JOIN apps ON apps.id = sessions.app WHERE path = ? AND identifier = ?",
      arguments: [journal.program.path, journal.session])
    guard let id else { throw TransferStoreError.noSuchSession }
    return id
  }

  private func isTaken(_ journal: TransferJournal, in session: SessionID, _ database: Database) throws -> Bool {
    try Bool.fetchOne(
      database, sql: "SELECT 1 FROM transfers WHERE session = ? AND (taskIdentifier = ? OR token = ?)",
      arguments: [session, journal.description.taskIdentifier, journal.description.token]) ?? false
  }

  private func lost(_ journal: TransferJournal, _ session: SessionID) throws -> LostTask {
    LostTask(
      id: journal.transfer, session: session, taskIdentifier: journal.description.taskIdentifier,
      token: journal.description.token, description: try MessageFraming.encode(journal.description),
      cause: "the queue was lost, and with it the header fields or the body of its request, which only the app has; "
        + "create the task again", received: try files.keptPath(of: journal.transfer, in: folder))
  }

  private func insert(_ journal: TransferJournal, _ session: SessionID, _ database: Database) throws {
    let description = journal.description
    try database.execute(
      sql: """
        INSERT INTO transfers (id, session, taskIdentifier, token, state, host, priority, earliestBegin, description,
          created, password, sealedRequest, upload)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        journal.transfer, session, description.taskIdentifier, description.token,
        (journal.isSuspended ? StoredState.suspended : .active).rawValue,
        TaskAdmission.hostName(description.request.url),
        Double(description.priority), description.earliestBeginDate?.timeIntervalSince1970,
        MessageFraming.encode(description), journal.created.timeIntervalSince1970, journal.sealedPassword,
        journal.sealedRequest, JSONStored.encode(journal.upload),
      ])
  }

  /// The bytes count that were on the disk when the journal was written. Bytes that were written later count where the
  /// machine has run since: only a power failure takes them. A complete file counts as a whole.
  private func addProgress(of journal: TransferJournal, _ database: Database) throws {
    let (id, total) = (journal.transfer, journal.expectedTotal)
    let offset: Int64
    if let size = try files.disk.size(of: files.complete(id)), size == total {
      offset = total
    } else if journal.response == nil {
      // It was written before there was an answer, or the bytes are of another resource.
      offset = 0
    } else {
      let size = try files.disk.size(of: files.partial(id)) ?? 0
      offset = journal.bootID == bootID ? size : min(size, journal.committedOffset)
    }
    let isBegun = journal.isBegun == true
    try database.execute(
      sql: """
        UPDATE transfers SET committedOffset = ?, response = ?, validator = ?, expectedTotal = ?,
          upload = coalesce(?, upload), begun = max(begun, ?)
        WHERE id = ?
        """,
      arguments: [
        offset, JSONStored.encode(journal.response), JSONStored.encode(journal.validator), total,
        JSONStored.encode(journal.upload), isBegun, id,
      ])
  }
}

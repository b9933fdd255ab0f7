import Foundation
import GRDB
import SystemServices
import TransferProtocol

/// Fills a new queue, which is empty or a copy of an earlier one, with what is left elsewhere: the rows of the damaged
/// queue that can be read, then the journals beside the files and the records of changes. Tasks of which only the name is
/// left end with a failure, so that their apps hear of it.
struct QueueRebuilding {
  let directory: String
  let disk: any DurableFileSystem
  /// The folder that the damaged queue is in, and files of lost tasks come into.
  let folder: String
  let date: Date
  let bootID: String

  struct Result: Equatable {
    /// Tasks of the damaged queue that could be read.
    var salvaged = 0
    /// Tasks that a journal was needed for.
    var fromJournals = 0
    /// Tasks that ended because too little is left of them.
    var lost = 0
    /// Changes that were made once more by their records.
    var changes = 0

    var isEmpty: Bool { self == Result() }
  }

  private var files: TransferFiles { TransferFiles(directory: directory, disk: disk) }

  /// - Parameters:
  ///   - path: the new queue, which has its tables.
  ///   - damaged: a duplicate of the damaged queue; nil where there is none.
  /// - Returns: also the files that no transfer of the new queue has any use for.
  func fill(_ path: String, from damaged: String?) throws -> (Result, LostFiles) {
    let connection = try QueueFile.open(path, checksReferences: false)
    defer { try? connection.close() }
    let found = try damaged.flatMap { try QueueSalvage($0) }
    defer { found?.close() }
    // The copy has all of a queue without its last changes, and later.
    let copied = try connection.read { try QueueNumbers.changes(in: $0) }
    let salvage = try found?.recordedChanges().map { $0 < copied } == true ? nil : found
    let records = try files.newTasks.records()
    var result = Result()
    var proven: Set<TransferID> = []
    var doubtful: [TransferID: Row] = [:]
    let needless = try connection.write { database -> LostFiles in
      // Above all that were given away: events that are made here have numbers of their own.
      let first = RaisedNumbers(highest: 0, date: date).first
      var names: [QueueSalvage.TaskName]?
      if let salvage {
        (proven, doubtful) = try copyRows(of: salvage, to: database)
        // Those of an earlier version, where damage has kept them from being changed.
        try TransferSchema.nameHosts(in: database)
        // A row of the wrong kind would keep the new queue from being made, each time.
        try TransferStore.mendDamagedRows(in: database)
        try TransferStore.mendDamagedSessions(at: date, in: database)
        names = try salvage.taskNames()
      }
      try database.execute(
        sql: "UPDATE sessions SET nextSequence = MAX(nextSequence, ?)", arguments: [first])
      try removeEnded(records.ended, from: database)
      // Changes that were made last may be gone without damage: nothing is known of what came later.
      let last = try salvage?.highestTransfer() ?? .max
      let alive = names.map { Set($0.map(\.id)) }
      let journals = try JournalRows(files: files, folder: folder, bootID: bootID, date: date)
        .add(records, to: database, sparing: proven) { $0 > last || alive?.contains($0) ?? true }
      let added = try addDoubtful(doubtful.filter { !records.ended.contains($0.key) }, to: database)
      result.salvaged = proven.count + added.count
      proven.formUnion(journals.proven.keys)
      result.fromJournals = journals.proven.count + journals.begun.count
      var lost = journals.lost
      for name in names ?? [] where try !records.ended.contains(name.id) && !has(name.id, in: database) {
        try addLost(name, to: database)
        lost.append(name.id)
      }
      result.lost = lost.count
      // Over what the copy, the rows and the journals have: that is as it was before some of these, or after.
      let changes = try records.changes.sparingBytes { try journals.proven[$0] ?? resource(of: $0, in: database) }
      for change in changes {
        let before = database.totalChangesCount
        do { try change.make(in: database) } catch let error as DatabaseError where error.isOfTheMachine {
          throw error
        } catch {
          // One that can't be made keeps no queue from being made.
          continue
        }
        if database.totalChangesCount > before { result.changes += 1 }
      }
      try removeDanglingRows(database)
      let forgotten = try forgetProgress(database, sparing: proven, begun: journals.begun)
      try tellEnds(database, after: first)
      return LostFiles(lost: lost, forgotten: forgotten)
    }
    return (result, needless)
  }

  // MARK: Rows

  /// Returns the transfers whose rows could be read, and the rows that are not what was written. These give way to what the
  /// copy or a journal has of their transfers.
  private func copyRows(
    of salvage: QueueSalvage, to database: Database
  ) throws -> (found: Set<TransferID>, doubtful: [TransferID: Row]) {
    let last = try salvage.highestTransfer() ?? .max
    // A queue without its last changes may not have the apps and the sessions of its newer copy.
    let isEarlier = try last < TransferNumbers.highestGiven(in: database) ?? 0
    for (table, names) in [("apps", try salvage.appNames()), ("sessions", try salvage.sessionNames())] {
      var found: Set<Int64> = []
      let isWhole = try salvage.readRows(of: table) { row in
        if let id = try QueueRebuilding.insert(row, into: table, database) { found.insert(id) }
      }
      guard isWhole || names != nil else { continue }
      if !isEarlier { try removeOthers(than: found.union((names ?? []).map(\.id)), from: table, database) }
      for name in names ?? [] where !found.contains(name.id) { try addNamed(name, to: table, database) }
    }
    var found: Set<TransferID> = []
    var doubtful: [TransferID: Row] = [:]
    let damagedEnds = try salvage.rowsWithDamagedEnds(of: "transfers")
    let isWhole = try salvage.readRows(of: "transfers") { row in
      if let id = Int64.fromDatabaseValue(row["id"]), isDoubtful(row, hasDamagedEnd: damagedEnds.contains(id)) {
        doubtful[id] = row.copy()
        return
      }
      if let id = try QueueRebuilding.insert(row, into: "transfers", database) { found.insert(id) }
    }
    if isWhole {
      try removeOthers(than: found.union(doubtful.keys), upTo: last, from: "transfers", database)
    } else if let names = try salvage.taskNames() {
      try removeOthers(than: Set(names.map(\.id)), upTo: last, from: "transfers", database)
    }
    // The events of the copy are older than the rows. Without all of the damaged queue they are made again from these.
    try database.execute(sql: "DELETE FROM events")
    let events = try salvage.events() ?? []
    // So are those of a transfer that has one whose content is damaged.
    let damaged = Set(events.filter { !isReadable($0) }.compactMap { Int64.fromDatabaseValue($0["transfer"]) })
    for row in events where Int64.fromDatabaseValue(row["transfer"]).map({ !damaged.contains($0) }) ?? false {
      _ = try QueueRebuilding.insert(row, into: "events", database)
    }
    return (found, doubtful)
  }

  /// Of a transfer that is over, the end itself is what counts: an older row would have it run again.
  private func isDoubtful(_ row: Row, hasDamagedEnd: Bool) -> Bool {
    guard String.fromDatabaseValue(row["state"]) != StoredState.completed.rawValue else { return false }
    guard !hasDamagedEnd, let description = Data.fromDatabaseValue(row["description"]) else { return true }
    return (try? MessageFraming.decode(TransferDescription.self, from: description)) == nil
  }

  /// Adds the rows of which there is nothing better. Others say at least whether their transfers are suspended: that is before
  /// the parts that may be damaged. Returns the transfers that were added, whose progress counts for nothing.
  private func addDoubtful(_ rows: [TransferID: Row], to database: Database) throws -> Set<TransferID> {
    guard !rows.isEmpty else { return [] }
    var added: Set<TransferID> = []
    for (id, row) in rows {
      if try !has(id, in: database) {
        if try QueueRebuilding.insert(row, into: "transfers", database) != nil { added.insert(id) }
      } else if let state = String.fromDatabaseValue(row["state"]).flatMap({ StoredState(rawValue: $0) }) {
        try database.execute(
          sql: "UPDATE transfers SET state = ? WHERE id = ? AND state <> 'completed'", arguments: [state.rawValue, id])
      }
    }
    try TransferSchema.nameHosts(in: database)
    try TransferStore.mendDamagedRows(in: database)
    // Numbers are of the right kind, whatever they are.
    let update = try database.makeStatement(
      sql: """
        UPDATE transfers SET committedOffset = MAX(committedOffset, 0), expectedTotal = MAX(expectedTotal, -1),
          failures = 0, nextAttempt = NULL, crashes = 0 WHERE id = ?
        """)
    for id in added { try update.execute(arguments: [id]) }
    return added
  }

  private func isReadable(_ event: Row) -> Bool {
    guard String.fromDatabaseValue(event["kind"]).flatMap({ StoredEvent.Kind(rawValue: $0) }) != nil,
      let completion = Data.fromDatabaseValue(event["completion"])
    else { return false }
    return (try? MessageFraming.decode(Completion.self, from: completion)) != nil
  }

  /// Returns the number of the row; nil when what it has can't be in that table.
  private static func insert(_ row: Row, into table: String, _ database: Database) throws -> Int64? {
    // A queue whose version can't be read may have others.
    let known = Set(try database.columns(in: table).map(\.name))
    let fields = zip(row.columnNames, row.databaseValues).filter { known.contains($0.0) }
    let columns = fields.map(\.0)
    let statement = try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO \(table) (\(columns.joined(separator: ", ")))
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
        """)
    do {
      try statement.execute(arguments: StatementArguments(fields.map(\.1)))
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT { return nil }
    return Int64.fromDatabaseValue(row["id"] ?? .null) ?? 0
  }

  private func removeOthers(
    than ids: Set<Int64>, upTo last: Int64 = .max, from table: String, _ database: Database
  ) throws {
    let delete = try database.makeStatement(sql: "DELETE FROM \(table) WHERE id = ?")
    for id in try Int64.fetchAll(database, sql: "SELECT id FROM \(table) WHERE id <= ?", arguments: [last])
    where !ids.contains(id) {
      try delete.execute(arguments: [id])
    }
  }

  /// The rows of an older copy do not say that their apps have heard of the ends. What is history already stays.
  private func removeEnded(_ ended: Set<TransferID>, from database: Database) throws {
    let delete = try database.makeStatement(sql: "DELETE FROM transfers WHERE id = ? AND acknowledged = 0")
    for id in ended { try delete.execute(arguments: [id]) }
  }

  /// An app or a session of which only the name is left. The app may judge connections, so none is made without it.
  private func addNamed(_ name: QueueSalvage.Name, to table: String, _ database: Database) throws {
    if table == "apps" {
      try database.execute(
        sql: "INSERT OR IGNORE INTO apps (id, path, executable) VALUES (?, ?, X'')", arguments: [name.id, name.text])
    } else {
      try database.execute(
        sql:
          "INSERT OR IGNORE INTO sessions (id, app, identifier, options, judgesConnections) VALUES (?, ?, ?, X'', 1)",
        arguments: [name.id, name.app, name.text])
    }
  }

  private func has(_ id: TransferID, in database: Database) throws -> Bool {
    try Bool.fetchOne(database, sql: "SELECT 1 FROM transfers WHERE id = ?", arguments: [id]) ?? false
  }

  /// nil where its row does not say.
  private func resource(of id: TransferID, in database: Database) throws -> String? {
    let row = try Row.fetchOne(database, sql: "SELECT description FROM transfers WHERE id = ?", arguments: [id])
    guard let description = row.flatMap({ Data.fromDatabaseValue($0["description"]) }) else { return nil }
    return (try? MessageFraming.decode(TransferDescription.self, from: description))?.request.url
  }

  private func addLost(_ name: QueueSalvage.TaskName, to database: Database) throws {
    try LostTask(
      id: name.id, session: name.session, taskIdentifier: name.taskIdentifier, token: name.token,
      description: Data(), cause: "its record was lost when the queue was damaged", received: received(name.id)
    ).insert(into: database, date: date)
  }

  /// The path that what has arrived of a lost task is moved to; nil where there is nothing.
  private func received(_ id: TransferID) throws -> String? { try files.keptPath(of: id, in: folder) }

  private func removeDanglingRows(_ database: Database) throws {
    try database.execute(
      sql: """
        DELETE FROM sessions WHERE app NOT IN (SELECT id FROM apps);
        DELETE FROM transfers WHERE session NOT IN (SELECT id FROM sessions);
        DELETE FROM events WHERE transfer NOT IN (SELECT id FROM transfers)
          OR session NOT IN (SELECT id FROM sessions);
        """)
  }

  // MARK: Progress

  /// The counts of received bytes in an older copy are not used: since then a transfer may have started over, with bytes of
  /// another version of its resource. A whole file of the length that it knows is used. Returns the transfers that begin
  /// anew.
  private func forgetProgress(
    _ database: Database, sparing proven: Set<TransferID>, begun: Set<TransferID>
  ) throws -> [TransferID] {
    let heads = try StoredTransferHead.fetchAll(
      database, sql: "SELECT \(StoredTransferHead.columns) FROM transfers WHERE state <> 'completed'")
    let update = try database.makeStatement(
      sql: """
        UPDATE transfers SET committedOffset = 0, response = NULL, validator = NULL, expectedTotal = -1
        WHERE id = ? AND committedOffset > 0
        """)
    var forgotten: [TransferID] = []
    for head in heads where !proven.contains(head.id) {
      if let size = try disk.size(of: files.complete(head.id)), size == head.expectedTotal { continue }
      try update.execute(arguments: [head.id])
      // The last bytes of an upload do not leave before its journal is written.
      if !begun.contains(head.id) { try TransferStore.doubtUpload(of: head.id, in: database) }
      if try disk.size(of: files.partial(head.id)) != nil { forgotten.append(head.id) }
    }
    return forgotten
  }

  // MARK: Events

  /// Makes the events of transfers that are over, not acknowledged, and have none.
  private func tellEnds(_ database: Database, after first: Int64) throws {
    let ids = try Int64.fetchAll(
      database,
      sql: """
        SELECT id FROM transfers WHERE state = 'completed' AND acknowledged = 0
          AND id NOT IN (SELECT transfer FROM events) ORDER BY id
        """)
    for id in ids {
      guard
        let row = try Row.fetchOne(
          database, sql: StoredTransfer.query + " WHERE transfers.id = ?", arguments: [id])
      else { continue }
      // One that can't be read is told as a failure.
      guard let stored = try? StoredTransfer(row: row) else {
        try tellDamagedEnd(of: id, in: database)
        continue
      }
      // An app that has taken the file and not heard of the end has acknowledged the first event: the file is gone.
      let hasFile =
        try stored.failure == nil && disk.size(of: files.complete(id)) == stored.head.committedOffset
      let completion = Completion(
        failure: stored.failure, response: stored.response, countOfBytesReceived: stored.head.committedOffset,
        countOfBytesExpectedToReceive: stored.head.expectedTotal)
      try TransferStore.addEvents(
        of: id, hasFile: hasFile, payload: MessageFraming.encode(completion), session: stored.head.session, in: database
      )
    }
  }

  private func tellDamagedEnd(of id: TransferID, in database: Database) throws {
    let session = try Int64.fetchOne(database, sql: "SELECT session FROM transfers WHERE id = ?", arguments: [id])
    guard let session else { return }
    let failure = LostTask.failure(because: "the record of its end is damaged", received: nil)
    try database.execute(
      sql: """
        UPDATE transfers SET host = '', priority = 0.5, earliestBegin = NULL, committedOffset = 0, expectedTotal = -1,
          failures = 0, nextAttempt = NULL, lastFailure = NULL, crashes = 0, held = 0, password = NULL,
          sealedRequest = NULL, created = ?, finished = ?, failure = ? WHERE id = ?
        """,
      arguments: [date.timeIntervalSince1970, date.timeIntervalSince1970, JSONStored.encode(failure), id])
    let completion = Completion(
      failure: failure, response: nil, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1)
    try TransferStore.addEvents(
      of: id, hasFile: false, payload: MessageFraming.encode(completion), session: session, in: database)
  }
}

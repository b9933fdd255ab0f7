import Foundation
import GRDB
import SystemServices
import TransferProtocol

extension TransferStore {
  /// The number of the app with that very program; nil where the queue knows none, or its program was another file.
  package func knownApp(for executable: ExecutableIdentity) throws -> AppID? {
    let encoded = try MessageFraming.encode(executable)
    return try database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT id FROM apps WHERE path = ? AND executable = ?", arguments: [executable.path, encoded])
    }
  }

  /// The number of the app whose program is at that path; nil where the queue knows none.
  package func app(atPath path: String) throws -> AppID? {
    try database.read { try Int64.fetchOne($0, sql: "SELECT id FROM apps WHERE path = ?", arguments: [path]) }
  }

  /// The number of the app with that program. Its device and inode are brought up to date.
  ///
  /// - Parameter ended: see `QueueDatabase.write`.
  package func app(
    for executable: ExecutableIdentity, ended: @escaping @Sendable (Result<AppID, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> AppID = { database in
      let encoded = try MessageFraming.encode(executable)
      try database.execute(
        sql: """
          INSERT INTO apps (path, executable, firstTaskIdentifier, firstSequence)
          SELECT ?, ?, taskIdentifier, sequence FROM firstNumbers WHERE 1
          ON CONFLICT (path) DO UPDATE SET executable = excluded.executable
          """,
        arguments: [executable.path, encoded])
      let id = try Int64.fetchOne(database, sql: "SELECT id FROM apps WHERE path = ?", arguments: [executable.path])
      guard let id else { throw TransferStoreError.noSuchSession }
      return id
    }
    database.write(change, ended: ended)
  }

  /// The session of that identifier, made when there is none; its options and its holder become these. Where the app has
  /// as many sessions as it may, the oldest ones without a task or an event are forgotten before one is made.
  ///
  /// - Parameters:
  ///   - sealedOptions: The options with what may not lie in the queue as it is.
  ///   - sealedFields: The additional header fields, which the options do not have.
  ///   - sessions: are not forgotten.
  ///   - ended: see `QueueDatabase.write`.
  package func attach(
    app: AppID, identifier: String, options: SessionOptions, sealedOptions: Data? = nil, sealedFields: Data? = nil,
    holder: StoredHolder? = nil, limits: SessionLimits = .none, sparing sessions: Set<SessionID> = [],
    ended: @escaping @Sendable (Result<StoredSession, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> StoredSession = { database in
      let encoded = try JSONStored.encode(options)
      let length = (encoded?.count ?? 0) + (sealedOptions?.count ?? 0) + (sealedFields?.count ?? 0)
      try TransferStore.makeRoom(for: identifier, length, of: app, limits: limits, sparing: sessions, in: database)
      try database.execute(
        sql: """
          INSERT INTO sessions (app, identifier, options, sealedOptions, sealedFields, holder, nextTaskIdentifier, nextSequence)
          SELECT id, ?, ?, ?, ?, ?, firstTaskIdentifier, firstSequence FROM apps WHERE id = ?
          ON CONFLICT (app, identifier) DO UPDATE SET options = excluded.options,
            sealedOptions = excluded.sealedOptions, sealedFields = excluded.sealedFields, holder = excluded.holder
          """,
        arguments: [
          identifier, encoded, sealedOptions, sealedFields, JSONStored.encode(holder), app,
        ])
      try database.execute(sql: "UPDATE apps SET unseenDays = 0 WHERE id = ? AND unseenDays > 0", arguments: [app])
      let session = try StoredSession.fetchOne(
        database, sql: StoredSession.query + " WHERE sessions.app = ? AND identifier = ?", arguments: [app, identifier])
      guard let session else { throw TransferStoreError.noSuchSession }
      return session
    }
    database.write(change, ended: ended)
  }

  /// - Parameter length: Bytes of the new session's options.
  private static func makeRoom(
    for identifier: String, _ length: Int, of app: AppID, limits: SessionLimits, sparing sessions: Set<SessionID>,
    in database: Database
  ) throws {
    let isKnown = try Bool.fetchOne(
      database, sql: "SELECT 1 FROM sessions WHERE app = ? AND identifier = ?", arguments: [app, identifier])
    let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM sessions WHERE app = ?", arguments: [app]) ?? 0
    guard isKnown == nil, count >= limits.usual else { return }
    let idle = try Int64.fetchAll(
      database,
      sql: """
        SELECT id FROM sessions WHERE app = ? AND launches = 0
          AND NOT EXISTS (SELECT 1 FROM transfers WHERE session = sessions.id AND acknowledged = 0)
          AND NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.id) ORDER BY id
        """,
      arguments: [app])
    let forgotten = idle.filter { !sessions.contains($0) }.prefix(count - limits.usual + 1)
    let limit = limits.most(withOptionsOf: length)
    guard count - forgotten.count < limit else { throw TransferStoreError.tooManySessions(limit: limit) }
    for session in forgotten { try forget(session, in: database) }
  }

  /// Its numbers go to the app: a session that takes its name begins with higher ones.
  private static func forget(_ session: SessionID, in database: Database) throws {
    try database.execute(
      sql: """
        UPDATE apps SET firstTaskIdentifier = MAX(firstTaskIdentifier, nextTaskIdentifier),
          firstSequence = MAX(firstSequence, nextSequence)
        FROM sessions WHERE sessions.app = apps.id AND sessions.id = ?
        """,
      arguments: [session])
    try database.execute(sql: "DELETE FROM sessions WHERE id = ?", arguments: [session])
  }

  /// Every session with something to do or to tell, or whose app was started and has not said that it is done.
  ///
  /// - Parameter unreadable: Called with each that can't be read, which is left out.
  package func liveSessions(
    unreadable: (SessionID, any Error) -> Void = { _, _ in }
  ) throws -> [StoredSession] {
    try database.read { database in
      try Row.fetchAll(
        database,
        sql: StoredSession.query + """
           WHERE launches > 0 OR EXISTS (SELECT 1 FROM transfers WHERE session = sessions.id AND state <> 'completed')
          OR EXISTS (SELECT 1 FROM events WHERE session = sessions.id) ORDER BY sessions.id
          """
      ).compactMap { row in
        do { return try StoredSession(row: row) } catch {
          unreadable(Int64.fromDatabaseValue(row["id"]) ?? 0, error)
          return nil
        }
      }
    }
  }

  package func session(_ id: SessionID) throws -> StoredSession? {
    try database.read { database in
      try StoredSession.fetchOne(database, sql: StoredSession.query + " WHERE sessions.id = ?", arguments: [id])
    }
  }

  /// A queue whose file was removed while it is open opens no further connection. The one that writes goes on, and has taken the
  /// new task.
  func sessionOfNewTask(_ id: SessionID) throws -> StoredSession? {
    do { return try session(id) } catch {
      return try database.writeWithoutTransaction { database in
        try StoredSession.fetchOne(database, sql: StoredSession.query + " WHERE sessions.id = ?", arguments: [id])
      }
    }
  }

  /// Notes a launch of the app, or that it said it was done, or that its user started it.
  ///
  /// - Parameter ended: see `QueueDatabase.write`.
  package func setLaunches(
    _ launches: Int, recent: Int, at instant: DurableInstant?, of session: SessionID,
    ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = {
      try $0.execute(
        sql: "UPDATE sessions SET launches = ?, recentLaunches = ?, lastLaunch = ? WHERE id = ?",
        arguments: [launches, recent, JSONStored.encode(instant), session])
    }
    database.write(change, ended: ended)
  }

  /// - Parameter ended: see `QueueDatabase.write`.
  package func setSealedOptions(
    _ sealed: Data, of session: SessionID, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = {
      try $0.execute(sql: "UPDATE sessions SET sealedOptions = ? WHERE id = ?", arguments: [sealed, session])
    }
    database.write(change, ended: ended)
  }

  /// Notes that the app decides about TLS connections, so that none is made without it.
  ///
  /// - Parameter ended: see `QueueDatabase.write`.
  package func setJudgesConnections(
    of session: SessionID, ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> Void = {
      try $0.execute(sql: "UPDATE sessions SET judgesConnections = 1 WHERE id = ?", arguments: [session])
    }
    database.write(change, ended: ended)
  }

  /// Ends the session: its events and its transfers are forgotten, except those that were over and acknowledged,
  /// which stay as history.
  ///
  /// - Parameter ended: see `QueueDatabase.write`. Called with the numbers of the forgotten transfers.
  package func invalidate(
    _ session: SessionID, ended: @escaping @Sendable (Result<[TransferID], any Error>) -> Void
  ) {
    let change: @Sendable (Database) throws -> [TransferID] = { database in
      let forgotten = try Int64.fetchAll(
        database, sql: "SELECT id FROM transfers WHERE session = ? AND acknowledged = 0", arguments: [session])
      try database.execute(sql: "DELETE FROM events WHERE session = ?", arguments: [session])
      try database.execute(sql: "DELETE FROM transfers WHERE session = ? AND acknowledged = 0", arguments: [session])
      try database.execute(
        sql: "UPDATE sessions SET launches = 0 WHERE id = ?", arguments: [session])
      return forgotten
    }
    database.write(change, recording: .byItsCaller, ended: ended)
  }

  /// Forgets acknowledged transfers that finished before `date` or are beyond the newest `limit` of their app, and
  /// sessions that never had a task. Task identifiers and sequences of events are never used again.
  package func prune(finishedBefore date: Date, keeping limit: Int, sparing sessions: Set<SessionID>) throws {
    try database.write(TransferStore.change(pruningFinishedBefore: date, keeping: limit, sparing: sessions))
  }

  /// The same without waiting for the disk; see `QueueDatabase.write`.
  package func prune(
    finishedBefore date: Date, keeping limit: Int, sparing sessions: Set<SessionID>,
    ended: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    database.write(
      TransferStore.change(pruningFinishedBefore: date, keeping: limit, sparing: sessions), ended: ended)
  }

  private static func change(
    pruningFinishedBefore date: Date, keeping limit: Int, sparing sessions: Set<SessionID>
  ) -> @Sendable (Database) throws -> Void {
    { database in
      try database.execute(
        sql: """
          DELETE FROM transfers WHERE acknowledged = 1 AND (finished < ? OR id IN (
            SELECT id FROM (
              SELECT transfers.id AS id,
                ROW_NUMBER() OVER (PARTITION BY sessions.app ORDER BY transfers.id DESC) AS place
              FROM transfers JOIN sessions ON sessions.id = transfers.session WHERE acknowledged = 1
            ) WHERE place > ?))
          """,
        arguments: [date.timeIntervalSince1970, limit])
      let empty = try Int64.fetchAll(
        database,
        sql: """
          SELECT sessions.id FROM sessions JOIN apps ON apps.id = sessions.app
          WHERE nextTaskIdentifier <= firstTaskIdentifier AND nextSequence <= firstSequence
            AND sessions.id NOT IN (SELECT session FROM transfers)
          """)
      for session in empty where !sessions.contains(session) {
        try TransferStore.forget(session, in: database)
      }
      // Apps stay: a connection may know its number.
    }
  }
}

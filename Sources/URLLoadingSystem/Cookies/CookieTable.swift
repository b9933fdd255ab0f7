import Foundation
import GRDB
import SystemServices

/// The table of cookies, and how rows become cookies. A row whose properties make no cookie is left out; values of
/// another type than was written are damage of the file.
///
/// Each change has a number that grows, so that a process reads what it does not know yet. A cookie that was removed
/// leaves a row without its value, for a while.
enum CookieTable {
  /// For how long processes that do not read can still learn of a removal without reading all.
  private static let removalsAreKept: TimeInterval = 86_400

  private static let version = 1

  /// A file that a newer version of the library has made. It is left alone.
  struct NewerVersion: Error {}

  static func open(_ path: String) throws -> DatabaseQueue {
    // Made here, since SQLite gives new files the mode of the user's mask. Its other files get that of this one.
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError(errno, "open", path: path) }
    close(descriptor)
    var configuration = Configuration()
    configuration.label = "cookies"
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST")
    }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { database in
      let verdict = try String.fetchOne(database, sql: "PRAGMA quick_check(1)") ?? "no answer"
      guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
    }
    try queue.write { try prepare($0) }
    return queue
  }

  private static func prepare(_ database: Database) throws {
    let present = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    guard present <= version else { throw NewerVersion() }
    if present < version {
      try database.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS cookies (
            name TEXT NOT NULL, domain TEXT NOT NULL, path TEXT NOT NULL, partition TEXT NOT NULL,
            -- The properties of the cookie as JSON; NULL when it was removed.
            contents BLOB,
            expires REAL, stored REAL NOT NULL, created INTEGER NOT NULL, revision INTEGER NOT NULL,
            PRIMARY KEY (domain, path, name, partition)
          ) WITHOUT ROWID;
          CREATE INDEX IF NOT EXISTS cookiesByRevision ON cookies (revision);
          -- The number of the last change; that of the last removal whose row is gone.
          CREATE TABLE IF NOT EXISTS revisions (last INTEGER NOT NULL, forgotten INTEGER NOT NULL);
          INSERT INTO revisions SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM revisions);
          PRAGMA user_version = \(version);
          """)
    }
    let now = Date().timeIntervalSince1970
    // Every process knows by itself when a cookie ends.
    try database.execute(sql: "DELETE FROM cookies WHERE expires <= ?", arguments: [now])
    let old = now - removalsAreKept
    try database.execute(
      sql: """
        UPDATE revisions SET forgotten =
          max(forgotten, ifnull((SELECT max(revision) FROM cookies WHERE contents IS NULL AND stored < ?), 0))
        """, arguments: [old])
    try database.execute(sql: "DELETE FROM cookies WHERE contents IS NULL AND stored < ?", arguments: [old])
  }

  // MARK: Reading

  /// An order that is not reached in a hundred thousand years, and leaves room for those that follow it.
  private static let latestOrder: Int64 = 1 << 62

  static func changes(
    since revision: Int64, in database: Database
  ) throws -> (CookieFile.Changes, last: Int64) {
    let (last, forgotten) = try revisions(in: database)
    let isAll = revision == 0 || revision < forgotten
    var changes = CookieFile.Changes(isAll: isAll)
    let decoder = JSONDecoder()
    let rows = try Row.fetchCursor(
      database, sql: "SELECT name, domain, path, partition, contents, stored, created FROM cookies WHERE revision > ?",
      arguments: [isAll ? 0 : revision])
    while let row = try rows.next() {
      // By the values, since the row's subscript ends the process where a value has another type.
      let values = Array(row.databaseValues)
      guard values.count == 7 else { throw damage("columns") }
      let partition = try text(values[3])
      let identity = CookieIdentity(
        name: try text(values[0]), domain: try text(values[1]), path: try text(values[2]),
        // Part of the primary key, where NULL would be another value in each row.
        partition: partition.isEmpty ? nil : partition)
      guard !values[4].isNull else {
        changes.removed.append(identity)
        continue
      }
      guard case .blob(let contents) = values[4].storage, let stored = Double.fromDatabaseValue(values[5]),
        let created = Int64.fromDatabaseValue(values[6])
      else { throw damage("values") }
      guard let kept = try? decoder.decode(KeptCookie.self, from: contents) else { continue }
      let cookie = HTTPCookie(kept.contents(identity))
      changes.entries.append(
        CookieEntry(
          cookie: cookie, stored: Date(timeIntervalSince1970: stored), order: min(created, CookieTable.latestOrder),
          lastUse: 0))
    }
    return (changes, last)
  }

  /// Whether nothing was written yet.
  static func isNew(_ database: Database) throws -> Bool { try revisions(in: database).last == 0 }

  private static func revisions(in database: Database) throws -> (last: Int64, forgotten: Int64) {
    guard let row = try Row.fetchOne(database, sql: "SELECT last, forgotten FROM revisions") else {
      throw damage("revisions")
    }
    let values = Array(row.databaseValues)
    guard values.count == 2, case .int64(let last) = values[0].storage, case .int64(let forgotten) = values[1].storage
    else { throw damage("revisions") }
    return (last, forgotten)
  }

  private static func text(_ value: DatabaseValue) throws -> String {
    guard case .string(let text) = value.storage else { throw damage("text") }
    return text
  }

  private static func damage(_ place: String) -> DatabaseError {
    DatabaseError(resultCode: .SQLITE_CORRUPT, message: "cookies: \(place)")
  }

  // MARK: Writing

  static func write(
    _ changes: [CookieIdentity: CookieEntry?], at now: Date, in database: Database
  ) throws {
    try database.execute(sql: "UPDATE revisions SET last = last + 1")
    let revision = try revisions(in: database).last
    let encoder = JSONEncoder()
    for (identity, entry) in changes {
      let contents = try entry.map { try encoder.encode(KeptCookie($0.cookie.contents)) }
      try database.execute(
        sql: """
          INSERT OR REPLACE INTO cookies
            (name, domain, path, partition, contents, expires, stored, created, revision)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          identity.name, identity.domain, identity.path, identity.partition ?? "", contents,
          entry?.cookie.contents.expires?.timeIntervalSince1970, (entry?.stored ?? now).timeIntervalSince1970,
          entry?.order ?? 0, revision,
        ])
    }
  }
}

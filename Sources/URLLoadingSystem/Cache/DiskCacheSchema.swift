import Foundation
import GRDB

/// The tables of the index. Another form gets another file name, since a cache may be begun anew.
enum DiskCacheSchema {
  static func open(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "url-cache"
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      // After a loss of power the latest rows may be missing, which a cache can bear.
      try database.execute(sql: "PRAGMA synchronous = NORMAL")
    }
    // Made here, since SQLite would let others read it.
    let made = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if made >= 0 { close(made) }
    let database = try DatabaseQueue(path: path, configuration: configuration)
    try database.write { try $0.execute(sql: tables) }
    return database
  }

  private static let tables = """
    CREATE TABLE IF NOT EXISTS responses (
      id INTEGER PRIMARY KEY,
      number INTEGER NOT NULL,
      record BLOB NOT NULL,
      digests BLOB NOT NULL,
      seal BLOB NOT NULL,
      body BLOB,
      size INTEGER NOT NULL,
      cost INTEGER NOT NULL,
      stored REAL NOT NULL,
      used REAL NOT NULL
    );
    CREATE INDEX IF NOT EXISTS responsesByNumber ON responses (number);
    CREATE INDEX IF NOT EXISTS responsesByUse ON responses (used);
    CREATE INDEX IF NOT EXISTS responsesByDate ON responses (stored);
    CREATE TABLE IF NOT EXISTS totals (id INTEGER PRIMARY KEY CHECK (id = 0), cost INTEGER NOT NULL);
    INSERT OR IGNORE INTO totals VALUES (0, 0);
    CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON responses BEGIN
      UPDATE totals SET cost = cost + new.cost;
    END;
    CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON responses BEGIN
      UPDATE totals SET cost = cost - old.cost;
    END;
    CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE OF cost ON responses BEGIN
      UPDATE totals SET cost = cost - old.cost + new.cost;
    END;
    """
}

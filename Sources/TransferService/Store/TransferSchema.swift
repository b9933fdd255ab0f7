import GRDB

/// The tables, as a list of migrations. A migration that has been released is never changed; a new one is added.
enum TransferSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 transfers") { database in
      try database.execute(
        sql: """
          CREATE TABLE apps (
            id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            executable BLOB NOT NULL
          );
          CREATE TABLE sessions (
            id INTEGER PRIMARY KEY,
            app INTEGER NOT NULL REFERENCES apps ON DELETE CASCADE,
            identifier TEXT NOT NULL,
            options BLOB NOT NULL,
            nextTaskIdentifier INTEGER NOT NULL DEFAULT 1,
            nextSequence INTEGER NOT NULL DEFAULT 1,
            launches INTEGER NOT NULL DEFAULT 0,
            lastLaunch BLOB,
            UNIQUE (app, identifier)
          );
          -- AUTOINCREMENT: the number of a transfer is never used again, since files are named after it.
          CREATE TABLE transfers (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            taskIdentifier INTEGER NOT NULL,
            token TEXT NOT NULL,
            state TEXT NOT NULL,
            host TEXT NOT NULL,
            priority REAL NOT NULL,
            earliestBegin REAL,
            description BLOB NOT NULL,
            response BLOB,
            validator BLOB,
            committedOffset INTEGER NOT NULL DEFAULT 0,
            expectedTotal INTEGER NOT NULL DEFAULT -1,
            failures INTEGER NOT NULL DEFAULT 0,
            lastFailure TEXT,
            nextAttempt BLOB,
            started BLOB,
            failure BLOB,
            created REAL NOT NULL,
            finished REAL,
            acknowledged INTEGER NOT NULL DEFAULT 0,
            UNIQUE (session, taskIdentifier),
            UNIQUE (session, token)
          );
          CREATE INDEX transfersByState ON transfers (state, acknowledged);
          CREATE TABLE events (
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            transfer INTEGER NOT NULL REFERENCES transfers ON DELETE CASCADE,
            kind TEXT NOT NULL,
            completion BLOB NOT NULL,
            PRIMARY KEY (session, sequence)
          ) WITHOUT ROWID;
          CREATE INDEX eventsByTransfer ON events (transfer);
          """)
    }
    migrator.registerMigration("2 holders") { database in
      try database.execute(sql: "ALTER TABLE sessions ADD COLUMN holder BLOB")
    }
    migrator.registerMigration("3 judgements") { database in
      try database.execute(sql: "ALTER TABLE sessions ADD COLUMN judgesConnections INTEGER NOT NULL DEFAULT 0")
    }
    migrator.registerMigration("4 passwords") { database in
      try database.execute(
        sql: """
          ALTER TABLE transfers ADD COLUMN password BLOB;
          ALTER TABLE sessions ADD COLUMN sealedOptions BLOB;
          """)
    }
    migrator.registerMigration("5 first numbers") { database in
      try database.execute(
        sql: """
          -- Numbers that new sessions of the app begin with: those of forgotten sessions are not used again.
          ALTER TABLE apps ADD COLUMN firstTaskIdentifier INTEGER NOT NULL DEFAULT 1;
          ALTER TABLE apps ADD COLUMN firstSequence INTEGER NOT NULL DEFAULT 1;
          -- Those that new apps begin with: one row.
          CREATE TABLE firstNumbers (taskIdentifier INTEGER NOT NULL, sequence INTEGER NOT NULL);
          INSERT INTO firstNumbers VALUES (1, 1);
          """)
    }
    migrator.registerMigration("6 uploads, holds and limits") { database in
      try database.execute(
        sql: """
          ALTER TABLE transfers ADD COLUMN upload BLOB;
          ALTER TABLE transfers ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
          -- The state is what the app asks for. The user's pause stands beside it.
          ALTER TABLE transfers ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
          ALTER TABLE sessions ADD COLUMN recentLaunches INTEGER NOT NULL DEFAULT 0;
          -- Header fields and bodies, which `description` and `options` are without.
          ALTER TABLE transfers ADD COLUMN sealedRequest BLOB;
          ALTER TABLE sessions ADD COLUMN sealedFields BLOB;
          CREATE INDEX sealedTransfers ON transfers (session) WHERE sealedRequest IS NOT NULL;
          -- Counted with each new task.
          CREATE INDEX transfersToTell ON transfers (session) WHERE acknowledged = 0;
          -- On how many days the service ran and the app did not connect, and when that was last looked at.
          ALTER TABLE apps ADD COLUMN unseenDays INTEGER NOT NULL DEFAULT 0;
          ALTER TABLE apps ADD COLUMN counted REAL;
          ALTER TABLE transfers ADD COLUMN limits BLOB;
          ALTER TABLE sessions ADD COLUMN limits BLOB;
          ALTER TABLE apps ADD COLUMN limits BLOB;
          -- One row, or none.
          CREATE TABLE serviceLimits (limits BLOB NOT NULL);
          """)
      try nameHosts(in: database)
    }
    migrator.registerMigration("7 begun requests") { database in
      // The server may have the request of a download that does harm when it arrives twice.
      try database.execute(sql: "ALTER TABLE transfers ADD COLUMN begun INTEGER NOT NULL DEFAULT 0")
    }
    migrator.registerMigration("8 recorded changes") { database in
      try database.execute(sql: "ALTER TABLE firstNumbers ADD COLUMN recordedChanges INTEGER NOT NULL DEFAULT 0")
    }
    return migrator
  }

  /// Before the version with uploads, `host` had the scheme and the port: `https://example.com:443`. All rows are changed by
  /// one statement, however many hosts there are. A host of another kind than text stays as it is.
  static func nameHosts(in database: Database) throws {
    let hostName = DatabaseFunction("hostName", argumentCount: 1, pure: true) { values in
      values.first.flatMap { String.fromDatabaseValue($0) }.map { TaskAdmission.hostName($0) }
    }
    database.add(function: hostName)
    defer { database.remove(function: hostName) }
    try database.execute(
      sql: "UPDATE transfers SET host = hostName(host) WHERE typeof(host) = 'text' AND instr(host, '://') > 0")
  }
}

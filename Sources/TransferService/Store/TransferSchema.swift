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
    return migrator
  }
}

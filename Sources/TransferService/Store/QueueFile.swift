import Foundation
import GRDB
import SystemServices

/// A file that has, or should have, the tables of the queue, while no service works with it.
package enum QueueFile {
  /// Whether there are no tables yet: SQLite takes an empty file for a new database.
  static func isBlank(_ path: String) throws -> Bool {
    if try LinuxFileSystem().size(of: path) == 0 { return true }
    return try reader.withFile(path) { database in
      try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM \(QueueReader.schema).sqlite_master") ?? 0
    } == 0
  }

  /// Looks for damage before anything is written, so that what is set aside is what was found.
  ///
  /// - Parameter thoroughly: Compares indexes with their tables, too.
  static func check(_ path: String, thoroughly: Bool = false) throws {
    let pragma = "PRAGMA \(QueueReader.schema).\(thoroughly ? "integrity_check" : "quick_check")(1)"
    let verdict = try reader.withFile(path) { try String.fetchOne($0, sql: pragma) } ?? "no answer"
    guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
  }

  /// Looks for damage in the tables and their indexes alone: a wrong list of free pages costs no row.
  static func checkTables(_ path: String) throws {
    try reader.withFile(path) { database in
      let tables = try String.fetchAll(
        database, sql: "SELECT name FROM \(QueueReader.schema).sqlite_master WHERE type = 'table'")
      for table in tables {
        let pragma = "PRAGMA \(QueueReader.schema).quick_check(\(table.quotedDatabaseIdentifier))"
        let verdict = try String.fetchOne(database, sql: pragma) ?? "no answer"
        guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
      }
    }
  }

  /// A queue of more bytes is not read as a whole before the service serves; see `TransferStore.checkIfLonger`.
  package static let longestChecked: Int64 = 64 << 20

  /// Looks for damage at the start of a service: in all of a small queue, else in the tables that everything rests on.
  static func checkAtStart(_ path: String, upTo limit: Int64 = longestChecked) throws {
    guard try LinuxFileSystem().size(of: path) ?? 0 > limit else { return try check(path) }
    try reader.withFile(path) { database in
      for table in ["apps", "sessions", "firstNumbers"] {
        let isThere =
          "SELECT EXISTS (SELECT * FROM \(QueueReader.schema).sqlite_master WHERE type = 'table' AND name = ?)"
        guard try Bool.fetchOne(database, sql: isThere, arguments: [table]) == true else { continue }
        _ = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM \(QueueReader.schema).\(table)")
      }
    }
  }

  /// How far that queue has come; 0 where a number can't be read, or there is no queue.
  static func numbers(in path: String) throws -> QueueNumbers {
    // To open a pipe waits.
    guard !isNoFile(path), try LinuxFileSystem().size(of: path) ?? 0 > 0 else { return QueueNumbers() }
    func readable(_ work: (Database) throws -> Int64?) throws -> Int64 {
      do { return try reader.withFile(path, work) ?? 0 } catch let error as DatabaseError where !error.isOfTheMachine {
        return 0
      }
    }
    return QueueNumbers(
      transfer: try readable { try TransferNumbers.highestGiven(in: $0, schema: QueueReader.schema) },
      changes: try readable { try QueueNumbers.changes(in: $0, schema: QueueReader.schema) })
  }

  /// Writes all that is in one queue to a new file, which is on the disk when this returns. Every page is read, so most damage
  /// is found, and the result is looked through once more. Garbage at the end of a record that is longer than a page is
  /// written as it is: only a look at the source finds that.
  static func write(_ source: String, to destination: String, disk: any DurableFileSystem) throws {
    try write(to: destination, disk: disk) {
      try reader.withFile(source) {
        try $0.execute(sql: "VACUUM \(QueueReader.schema) INTO ?", arguments: [destination])
      }
    }
  }

  static func write(to destination: String, disk: any DurableFileSystem, _ content: () throws -> Void) throws {
    try disk.remove(destination)
    // Made here, so that only its user may read it.
    try disk.open(destination).close()
    do {
      try content()
      try check(destination, thoroughly: true)
      guard try !isBlank(destination) else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "no tables") }
    } catch {
      try? disk.remove(destination)
      throw error
    }
    // SQLite writes it without waiting for the disk.
    let file = try disk.open(destination)
    defer { try? file.close() }
    try file.sync()
  }

  /// Has only its user read it and the files beside it: SQLite gives those the permissions of the queue, which has to be there
  /// for that. No connection of this process may be open, since its locks would end.
  static func makePrivate(_ path: String) throws {
    if try LinuxFileSystem().size(of: path) == nil { try LinuxFileSystem().open(path).close() }
    for suffix in ["", "-wal", "-shm"] {
      var status = stat()
      guard lstat(path + suffix, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else {
        continue
      }
      guard chmod(path + suffix, 0o600) == 0 else { throw SystemError(errno, "chmod", path: path + suffix) }
    }
  }

  /// Whether the name is that of a folder, a pipe or something else that is no file. A link counts as what it leads to, since a
  /// queue may be on another disk.
  static func isNoFile(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    guard status.st_mode & S_IFMT != S_IFLNK || stat(path, &status) == 0 else {
      return [ENOENT, ENOTDIR, ELOOP].contains(errno)
    }
    return status.st_mode & S_IFMT != S_IFREG
  }

  /// Gives this user's own files back to their user, and takes them from others: the queue, what is beside it, and its copies.
  /// Other files stay as they are.
  ///
  /// - Parameter report: called with a sentence for each.
  static func mendPermissions(in directory: String, report: (String) -> Void) throws {
    let names = ["", "-journal", "-wal", "-shm"].map { TransferStore.fileName + $0 } + QueueCopy.names
    for path in names.map({ "\(directory)/\($0)" }) {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
        status.st_mode & 0o077 != 0 || status.st_mode & 0o600 != 0o600
      else { continue }
      guard chmod(path, 0o600) == 0 else { throw SystemError(errno, "chmod", path: path) }
      let mode = String(status.st_mode & 0o7777, radix: 8)
      report("\(path) was open to others or closed to its user (mode \(mode)); it is 0600 now")
    }
  }

  static func open(_ path: String, checksReferences: Bool = true) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = checksReferences
    configuration.label = "queue file"
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  private static let reader = QueueReader()
}

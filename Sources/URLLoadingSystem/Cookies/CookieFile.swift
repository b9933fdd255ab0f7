import Foundation
import GRDB
import SystemServices

/// The cookies of an app on the disk: an SQLite database that several processes may use at a time. Every write is one
/// transaction, so a process that is killed leaves the cookies of before or those of after it.
///
/// Cookies live in memory alone while the file can't be used. One that is damaged is set aside under another name, and a
/// new one is begun.
final class CookieFile: @unchecked Sendable {
  // Sendable by hand: confined to the queue, which every method asserts.

  /// The cookies that were written since the last call.
  struct Changes {
    var entries: [CookieEntry] = []
    var removed: [CookieIdentity] = []
    /// Whether these are all.
    var isAll: Bool
  }

  static let name = "cookies.sqlite"

  private let directory: String
  private var path: String { directory + "/" + CookieFile.name }
  private let queue: DispatchQueue
  private var database: DatabaseQueue?
  private var inode: UInt64?
  /// The number of the last change that was read.
  private var revision: Int64 = 0
  /// Counted up by each process that has written; nil while there is no file.
  private(set) var counter: SharedCounter?
  /// Whether a damaged file was set aside since `takeDamage` was last called.
  private var hasSetAside = false

  private static let lockLimit = Duration.seconds(5)

  init(directory: String, queue: DispatchQueue) {
    self.directory = directory
    self.queue = queue
  }

  /// nil where there is no file.
  func read() throws -> Changes? {
    dispatchPrecondition(condition: .onQueue(queue))
    return try attempt { file in
      guard let database = try file.open(makes: false) else { return nil }
      let revision = file.revision
      let (changes, last) = try database.read { try CookieTable.changes(since: revision, in: $0) }
      file.revision = last
      return changes
    }
  }

  /// Whether cookies that were on the disk are there no longer, since their file was damaged.
  func takeDamage() -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    defer { hasSetAside = false }
    return hasSetAside
  }

  /// Changes that got to the disk.
  struct Written {
    /// How they were counted; nil where counting failed.
    let count: SharedCounter.Count?
  }

  /// Writes entries, and removes the cookies that have none.
  /// - Parameter all: Every entry, for a file that nothing was written to yet: it is the first, or the one before it was
  ///   removed or damaged.
  /// - Returns: nil where they did not get to the disk.
  func write(_ changes: [CookieIdentity: CookieEntry?], all: () -> [CookieEntry]) -> Written? {
    dispatchPrecondition(condition: .onQueue(queue))
    return try? attempt { file -> Written? in
      guard let database = try file.open(makes: true) else { return nil }
      // Others look for changes from now on: should this process end before it counts a second time, they have them.
      // A stopped process may have the counter's lock. That keeps no cookie from the disk.
      let count = try? file.counter?.increment()
      try database.write { database in
        var changes = changes
        if try CookieTable.isNew(database) {
          for entry in all() { changes.updateValue(entry, forKey: CookieIdentity(entry.cookie)) }
        }
        try CookieTable.write(changes, at: Date(), in: database)
      }
      return Written(count: count)
    }
  }

  // MARK: Opening

  /// - Returns: nil when there is no file and none is to be made.
  private func open(makes: Bool) throws -> DatabaseQueue? {
    let present = try CookieFile.inode(of: path)
    if let database {
      if present == inode {
        try openCounter()
        return database
      }
      // Another process has set the file aside, or the folder was removed.
      forget()
    }
    if present == nil {
      guard makes else { return nil }
      try LinuxFileSystem().createDirectory(directory)
    }
    // Processes open one after the other: one makes the tables, or finds the damage.
    let lock = try lock()
    defer { withExtendedLifetime(lock) {} }
    let opened = try CookieTable.open(path)
    (database, inode) = (opened, try CookieFile.inode(of: path))
    try openCounter()
    return opened
  }

  /// Opens the counter, again where its file was removed.
  private func openCounter() throws {
    if counter?.value == nil { counter = try SharedCounter(path: directory + "/cookies.changes") }
  }

  private func forget() {
    try? database?.close()
    (database, inode, revision, counter) = (nil, nil, 0, nil)
  }

  private func lock() throws -> FileLock {
    try FileLock.acquire(directory + "/cookies.lock", within: CookieFile.lockLimit)
  }

  private static func inode(of path: String) throws -> UInt64? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return nil }
      throw SystemError(code, "stat", path: path)
    }
    return UInt64(status.st_ino)
  }

  // MARK: Damage

  private static let damage: [ResultCode] = [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT]

  /// Runs `body`, once more with a new file where the present one is damaged.
  private func attempt<Result>(_ body: (CookieFile) throws -> Result) throws -> Result {
    do {
      return try body(self)
    } catch let error as DatabaseError where CookieFile.damage.contains(error.resultCode) {
      try setAside()
      return try body(self)
    }
  }

  private func setAside() throws {
    let damaged = try CookieFile.inode(of: path)
    let opened = inode
    forget()
    hasSetAside = true
    let lock = try lock()
    defer { withExtendedLifetime(lock) {} }
    // Another process may have done it already.
    guard let present = try CookieFile.inode(of: path), present == damaged, opened == nil || opened == present else {
      return
    }
    let disk = LinuxFileSystem()
    let mark = ".damaged-\(Int(Date().timeIntervalSince1970))-\(UUID().uuidString.prefix(8))"
    for suffix in ["", "-wal", "-shm"] where try disk.size(of: path + suffix) != nil {
      try disk.rename(path + suffix, to: path + mark + suffix)
    }
  }
}

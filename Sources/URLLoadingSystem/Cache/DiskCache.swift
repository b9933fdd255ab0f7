import Dispatch
import Foundation
import GRDB
import HTTPSemantics
import Synchronization
import SystemServices

/// The responses that a cache keeps on disk: an index in SQLite, small bodies in it, larger ones in files beside it.
///
/// Several processes may use one folder. SQLite orders their writes; a file gets its content before its row and loses
/// its row before its name, so that an end at any point leaves a readable index, and at most a file without a row. Every
/// body is read with the digests of its row: what is not what was written is not found.
///
/// Confined to its queue, except for `known`.
final class DiskCache: @unchecked Sendable {
  let directory: String
  let queue = DispatchQueue(label: "url-cache.disk", qos: .utility)
  private var database: DatabaseQueue?
  /// The file that is open. Another process may have set it aside, and begun a new one.
  private var inode: UInt64?
  /// The file that could not be opened last.
  private var unopened: UInt64?
  /// How long another process may take to open the index or to set it aside.
  private let lockLimit: Duration
  /// The database's word for "another connection has written", and when it was asked.
  private var dataVersion: Int64 = 0
  private var lastReload = Date.distantPast

  /// The part that loops ask without waiting for the queue.
  private struct Known {
    enum Phase { case unread, read, unusable }

    var phase = Phase.unread
    /// The numbers of the keys that may have a row. One too many costs a look into the index.
    var numbers: Set<Int64> = []
    /// Those of keys whose rows were not looked at since the index was read: other processes may have changed them.
    var unseen: Set<Int64> = []
    /// Rows that were used, and when, not written down yet.
    var used: [Int64: Double] = [:]
    /// Heads that rows have got, not written down yet: see `update`.
    var heads: [Int64: StoredHead] = [:]
    /// Whether their writing is arranged.
    var willWriteHeads = false
    /// When heads were written last.
    var lastHeads = DispatchTime(uptimeNanoseconds: 0)
    var capacity: Int
    /// Counted up by each process that has stored something; nil while there is no index.
    var counter: SharedCounter?
    /// Its value when the index was read.
    var seen: UInt64 = 0
    /// When to look again whether another process has made the index, in nanoseconds since the machine began.
    var nextLook: UInt64 = 0

    /// When other processes were last known to have stored nothing new, in nanoseconds since the machine began.
    var lastWithoutNews: UInt64 = 0

    /// Whether other processes may have stored something since the index was read.
    /// - Parameter age: how old the answer may be, in nanoseconds.
    mutating func hasNews(notOlderThan age: UInt64 = 0) -> Bool {
      let now = DispatchTime.now().uptimeNanoseconds
      guard let counter else { return now >= nextLook }
      if now &- lastWithoutNews < age { return false }
      guard counter.value == seen else { return true }
      lastWithoutNews = now
      return false
    }
  }

  private let known: Mutex<Known>

  init(directory: String, capacity: Int, lockLimit: Duration = .seconds(5)) {
    self.directory = directory
    self.lockLimit = lockLimit
    known = Mutex(Known(capacity: capacity))
    queue.setSpecific(key: DiskCache.queueKey, value: ObjectIdentifier(self))
  }

  private static let queueKey = DispatchSpecificKey<ObjectIdentifier>()

  /// Runs `body` on the queue, and waits for it. Also from the queue itself, where loads go on with what was found.
  func onQueue<Value>(_ body: () throws -> Value) rethrows -> Value {
    if DispatchQueue.getSpecific(key: DiskCache.queueKey) == ObjectIdentifier(self) { return try body() }
    return try queue.sync(execute: body)
  }

  static let indexName = "responses-1.sqlite"
  static let bodiesName = "bodies"
  static let counterName = "responses-1.changes"
  static let lockName = "responses-1.lock"
  private static let lookInterval: UInt64 = 1_000_000_000
  /// Larger bodies have a file of their own.
  static let largestInline = 16 * 1024
  /// Errors after which another try may succeed: damage is set aside first.
  private static let passing = damage + [.SQLITE_BUSY, .SQLITE_LOCKED]
  private static let mostUses = 1_000
  private static let headDelay = DispatchTimeInterval.milliseconds(100)
  /// The statements of this class break no rule of an index that is whole.
  private static let damage: [ResultCode] = [
    .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH,
  ]

  func path(ofBody id: Int64) -> String { "\(directory)/\(DiskCache.bodiesName)/\(String(id, radix: 16))" }

  // MARK: From any thread

  var capacity: Int { known.withLock { $0.capacity } }

  /// Whether it is worth asking for the key. True as long as the index was not read, and after another process has stored
  /// something.
  /// - Parameter age: how long ago, in nanoseconds, another process may have stored without being noticed.
  func mayHold(_ key: CacheKey, unnoticed age: UInt64 = 0) -> Bool {
    known.withLock {
      switch $0.phase {
      case .unread: true
      case .read: (!$0.numbers.isEmpty && $0.numbers.contains(key.number)) || $0.hasNews(notOlderThan: age)
      case .unusable: false
      }
    }
  }

  /// Whether another process may have stored something for the key that this one has not seen.
  /// - Parameter age: as for `mayHold`.
  func mayHaveNews(of key: CacheKey, unnoticed age: UInt64) -> Bool {
    known.withLock { $0.phase == .unread || $0.unseen.contains(key.number) || $0.hasNews(notOlderThan: age) }
  }

  /// The rows of the key are about to be looked at.
  func see(_ key: CacheKey) { _ = known.withLock { $0.unseen.remove(key.number) } }

  var isKnownEmpty: Bool {
    known.withLock { $0.phase == .unusable || ($0.phase == .read && $0.numbers.isEmpty && !$0.hasNews()) }
  }

  /// Says that the key will have a row, before the queue writes it.
  func announce(_ key: CacheKey) { _ = known.withLock { $0.numbers.insert(key.number) } }

  /// Notes that a row was used. It is written down with the next change.
  func noteUse(of id: Int64, at now: Date) {
    let isMuch = known.withLock {
      $0.used[id] = now.timeIntervalSince1970
      return $0.used.count == DiskCache.mostUses
    }
    if isMuch { queue.async { self.trim() } }
  }

  /// Gives a row another head, and writes it at once or, where others were written just before, a moment later: a response
  /// that the origin is asked about each time gets one with each answer, and a transaction for each would take more time than
  /// all the rest. Reads of the row by this process find the new head at once. A process that ends meanwhile leaves the old
  /// one, which is asked about once more.
  func update(_ id: Int64, head: StoredHead) {
    let due = known.withLock { known -> DispatchTime? in
      known.heads[id] = head
      guard !known.willWriteHeads else { return nil }
      known.willWriteHeads = true
      return known.lastHeads + DiskCache.headDelay
    }
    guard let due else { return }
    if due <= .now() {
      queue.async { self.writeHeads() }
    } else {
      queue.asyncAfter(deadline: due) { self.writeHeads() }
    }
  }

  /// The head that a row is to get; nil where it has it.
  func head(of id: Int64) -> StoredHead? { known.withLock { $0.heads.isEmpty ? nil : $0.heads[id] } }

  func setCapacity(_ capacity: Int) {
    known.withLock { $0.capacity = capacity }
    onQueue { trim() }
  }

  // MARK: On the queue

  /// Runs `body` with the database; nil when there is none and `creates` is false, or it can't be used. A damaged one is
  /// set aside once, and a new one begun.
  func withDatabase<Value>(creates: Bool = true, _ body: (DatabaseQueue) throws -> Value?) -> Value? {
    dispatchPrecondition(condition: .onQueue(queue))
    for _ in 0..<2 {
      do {
        guard let database = try opened(creates: creates) else { return nil }
        return try body(database)
      } catch let error where DiskCache.isDamage(error) {
        setAside()
      } catch {
        return nil
      }
    }
    return nil
  }

  /// A value of another type than was written is damage too.
  private static func isDamage(_ error: any Error) -> Bool {
    if let error = error as? DatabaseError { return damage.contains(error.resultCode) }
    return error is RowDecodingError
  }

  private func opened(creates: Bool) throws -> DatabaseQueue? {
    let disk = LinuxFileSystem()
    let path = "\(directory)/\(DiskCache.indexName)"
    let present = inodeOfIndex
    if let database {
      if present == inode {
        try renewCounter(database)
        return database
      }
      leave(database)
    }
    guard creates || present != nil else {
      known.withLock {
        if $0.phase == .unread { $0.phase = .read }
        $0.nextLook = DispatchTime.now().uptimeNanoseconds + DiskCache.lookInterval
      }
      return nil
    }
    do {
      try disk.createDirectory(directory)
      try disk.createDirectory("\(directory)/\(DiskCache.bodiesName)")
      // A file system that can't share memory costs looks at times.
      if known.withLock({ $0.counter == nil }),
        let counter = try? SharedCounter(path: "\(directory)/\(DiskCache.counterName)")
      {
        known.withLock { $0.counter = counter }
      }
      let opened = try openIndex(path)
      try reload(opened)
      queue.async { self.removeOrphans() }
      return opened
    } catch let error as DatabaseError where DiskCache.passing.contains(error.resultCode) {
      throw error
    } catch let error where error is RowDecodingError || error is BlockingCalls.Expired {
      throw error
    } catch {
      // No permission, no space: nothing is kept by this process.
      known.withLock { $0.phase = .unusable }
      throw error
    }
  }

  /// Processes open one after the other: one makes the tables, or finds the damage.
  private func openIndex(_ path: String) throws -> DatabaseQueue {
    let lock = try lock()
    defer { withExtendedLifetime(lock) {} }
    do {
      let opened = try DiskCacheSchema.open(path)
      (database, inode, unopened) = (opened, inodeOfIndex, nil)
      return opened
    } catch {
      unopened = inodeOfIndex
      throw error
    }
  }

  private func lock() throws -> FileLock {
    try FileLock.acquire("\(directory)/\(DiskCache.lockName)", within: lockLimit)
  }

  /// Opens the counter again where its file was removed. Other processes count in a new one by now.
  private func renewCounter(_ database: DatabaseQueue) throws {
    guard let counter = known.withLock({ $0.counter }), counter.value == nil else { return }
    let next = try? SharedCounter(path: "\(directory)/\(DiskCache.counterName)")
    known.withLock { $0.counter = next }
    try reload(database)
  }

  /// Whether there is an index.
  var isThere: Bool { inodeOfIndex != nil }

  private var inodeOfIndex: UInt64? {
    var status = stat()
    return lstat("\(directory)/\(DiskCache.indexName)", &status) == 0 ? UInt64(status.st_ino) : nil
  }

  /// Lets go of an index that another process has set aside. It stays open: at its end SQLite would remove its log by name,
  /// and that is the name of the new index's log by now.
  private func leave(_ replaced: DatabaseQueue) {
    DiskCache.left.withLock { $0.append(replaced) }
    (database, inode) = (nil, nil)
    // Another index has another counter where the whole folder was removed.
    known.withLock { $0.counter = nil }
  }

  private static let left = Mutex<[DatabaseQueue]>([])

  private func reload(_ database: DatabaseQueue) throws {
    // The number of before: a change that comes meanwhile is seen next time.
    let before = known.withLock { $0.counter?.value }
    let (version, numbers) = try database.read { database in
      (
        try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0,
        Set(try Int64.fetchAll(database, sql: "SELECT number FROM responses"))
      )
    }
    dataVersion = version
    lastReload = Date()
    known.withLock {
      $0.phase = .read
      $0.seen = before ?? 0
      $0.nextLook = DispatchTime.now().uptimeNanoseconds + DiskCache.lookInterval
      // Keys that were announced meanwhile stay.
      $0.numbers.formUnion(numbers)
      $0.unseen.formUnion(numbers)
    }
  }

  /// Learns what other processes have stored, at most every two seconds: until then every look-up asks the index.
  func reloadIfChanged(_ database: DatabaseQueue) throws {
    guard Date().timeIntervalSince(lastReload) >= 2 || lastReload > Date() else { return }
    lastReload = Date()
    let version = try database.inDatabase { try Int64.fetchOne($0, sql: "PRAGMA data_version") ?? 0 }
    if version != dataVersion || known.withLock({ $0.hasNews() }) { try reload(database) }
  }

  /// Tells the other processes that there is something new. This one knows it.
  func countChange() {
    // Counting may wait for another process, and loops take the lock of `known`.
    guard let counter = known.withLock({ $0.counter }), let count = try? counter.increment() else { return }
    known.withLock { $0.seen = count.following($0.seen) }
  }

  func forget(_ key: CacheKey) { _ = known.withLock { $0.numbers.remove(key.number) } }

  /// Writes the heads that rows have got. Those of rows whose own writing waits in the queue go behind it.
  private func writeHeads() {
    let ids = known.withLock { known in
      known.willWriteHeads = false
      known.lastHeads = .now()
      return Array(known.heads.keys)
    }
    queue.async { self.writeHeads(of: ids) }
  }

  /// As `writeHeads`, at once. For tests.
  func writeAllHeads() { writeHeads(of: known.withLock { Array($0.heads.keys) }) }

  private func writeHeads(of ids: [Int64]) {
    let heads = known.withLock { known in ids.compactMap { id in known.heads.removeValue(forKey: id).map { (id, $0) } }
    }
    guard !write(heads) else { return }
    // Another process may hold the index. They are written with the next ones.
    known.withLock { known in
      for (id, head) in heads where known.heads[id] == nil && known.heads.count < DiskCache.mostUses {
        known.heads[id] = head
      }
    }
  }

  func takeUses() -> [Int64: Double] {
    known.withLock { known in
      defer { known.used = [:] }
      return known.used
    }
  }

  // MARK: Damage

  /// Moves a damaged index into a folder beside it, in place of an older one, and its bodies with it.
  private func setAside() {
    countChange()
    let damaged = database == nil ? unopened : inode
    // Without the lock another process could have a new index in its place by now.
    guard let lock = try? lock(), let damaged, damaged == inodeOfIndex else {
      if let database { leave(database) }
      return
    }
    defer { withExtendedLifetime(lock) {} }
    try? database?.close()
    (database, inode, unopened) = (nil, nil, nil)
    let folder = "\(directory)/damaged"
    let files = FileManager.default
    try? files.removeItem(atPath: folder)
    try? files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["", "-wal", "-shm"].map({ DiskCache.indexName + $0 }) + [DiskCache.bodiesName] {
      try? LinuxFileSystem().rename("\(directory)/\(name)", to: "\(folder)/\(name)")
    }
    known.withLock { ($0.numbers, $0.unseen) = ([], []) }
  }

  /// Removes body files without a row. Young ones may be about to get theirs from another process.
  private func removeOrphans() {
    let folder = "\(directory)/\(DiskCache.bodiesName)"
    let rows = withDatabase { database in
      try database.read { Set(try Int64.fetchAll($0, sql: "SELECT id FROM responses WHERE body IS NULL")) }
    }
    guard let rows, let names = try? LinuxFileSystem().names(in: folder) else { return }
    for name in names {
      if let id = Int64(name, radix: 16), rows.contains(id) { continue }
      var status = stat()
      guard lstat("\(folder)/\(name)", &status) == 0, time(nil) - status.st_mtim.tv_sec > 3_600 else { continue }
      try? LinuxFileSystem().remove("\(folder)/\(name)")
    }
  }
}

import Foundation
import GRDB
import HTTPSemantics
import NIOCore

/// Reading and writing rows. On the queue.
extension DiskCache {
  /// Bodies up to here are read, and checked, before the item is given out. Larger ones are checked as they are read.
  private static let largestChecked: Int64 = 1024 * 1024
  /// Bodies up to here are given out as bytes.
  private static let largestBytes: Int64 = 128 * 1024

  // MARK: Finding

  func items(for key: CacheKey) -> [CacheItem] {
    var damaged: [Int64] = []
    let items = withDatabase(creates: false) { database -> [CacheItem]? in
      try reloadIfChanged(database)
      see(key)
      // One statement needs no transaction.
      return try database.inDatabase { database in
        let rows = try Row.fetchCursor(
          try database.cachedStatement(
            sql: "SELECT id, record, digests, seal, body, size, stored FROM responses WHERE number = ?"),
          arguments: [key.number])
        var items: [CacheItem] = []
        while let row = try rows.next() {
          // A value of another type than was written is damage like any other.
          guard let item = try? item(row) else {
            damaged.append(try row.decode(Int64.self, atIndex: 0))
            continue
          }
          if item.head.url == key.url { items.append(item) }
        }
        return items
      }
    }
    if !damaged.isEmpty { remove(ids: damaged) }
    if items?.isEmpty ?? true { forget(key) }
    return items ?? []
  }

  private func item(_ row: Row) throws -> CacheItem? {
    let id = try row.decode(Int64.self, atIndex: 0)
    let recordData = try row.decode(Data.self, atIndex: 1)
    let digests = Array(try row.decode(Data.self, atIndex: 2))
    let seal = try row.decode(Data.self, atIndex: 3)
    let inline = row.hasNull(atIndex: 4) ? nil : try row.decode(Data.self, atIndex: 4)
    let size = try row.decode(Int64.self, atIndex: 5)
    let stored = Date(timeIntervalSince1970: try row.decode(Double.self, atIndex: 6))
    guard CacheRecord.seal(recordData, digests) == seal, let record = CacheRecord(ByteBuffer(bytes: recordData)),
      record.head.bodyLength == size, let body = body(inline, id: id, length: size, digests: digests)
    else { return nil }
    var item = CacheItem(id: id, head: head(of: id) ?? record.head, body: body, stored: stored)
    item.userInfo = record.userInfo.flatMap { CacheItem.userInfo($0) }
    return item
  }

  private func body(_ inline: Data?, id: Int64, length: Int64, digests: [UInt8]) -> CacheItem.Body? {
    if let inline {
      guard Int64(inline.count) == length, DiskCache.digests(of: ByteBuffer(bytes: inline)) == digests else {
        return nil
      }
      return .bytes(ByteBuffer(bytes: inline))
    }
    guard let descriptor = CacheFileDescriptor(path(ofBody: id)), descriptor.length == length else { return nil }
    let file = CacheFile(descriptor: descriptor, length: length, digests: digests)
    if length <= DiskCache.largestBytes { return (try? file.read(from: 0, to: length)).map { .bytes($0) } }
    guard length <= DiskCache.largestChecked else { return .file(file) }
    var offset: Int64 = 0
    while offset < length {
      guard let piece = try? file.read(from: offset, to: length) else { return nil }
      offset += Int64(piece.readableBytes)
    }
    return .file(file)
  }

  static func digests(of bytes: ByteBuffer) -> [UInt8] {
    var digests: [UInt8] = []
    var rest = bytes
    while let piece = rest.readSlice(length: min(rest.readableBytes, CacheFile.blockLength)), piece.readableBytes > 0 {
      digests += CacheFile.digest(piece)
    }
    return digests
  }

  /// The heads of the rows of a key, without a look at their bodies.
  private func heads(for key: CacheKey, in database: Database) throws -> [(id: Int64, head: StoredHead)] {
    try Row.fetchAll(
      try database.cachedStatement(sql: "SELECT id, record FROM responses WHERE number = ?"), arguments: [key.number]
    ).compactMap { row in
      let id = try row.decode(Int64.self, atIndex: 0)
      let record = CacheRecord(ByteBuffer(bytes: try row.decode(Data.self, atIndex: 1)))
      return record.flatMap { $0.head.url == key.url ? (id, head(of: id) ?? $0.head) : nil }
    }
  }

  // MARK: Storing

  /// Stores an item whose body is bytes, in place of those that a request with these fields would have been answered
  /// from.
  func store(_ item: CacheItem, for fields: HTTPFields) {
    guard let bytes = item.bytes else { return }
    let digests = DiskCache.digests(of: bytes)
    guard bytes.readableBytes > DiskCache.largestInline else {
      return insert(item, digests: digests, body: Data(bytes.readableBytesView), for: fields)
    }
    // The folder is there once the database is.
    guard withDatabase({ _ in true }) == true, let writer = try? CacheFileWriter(path(ofBody: item.id), on: queue)
    else {
      return removeReplaced(by: item, fields)
    }
    do {
      try writer.write(bytes)
      _ = try writer.finish()
    } catch {
      writer.abandon()
      return removeReplaced(by: item, fields)
    }
    insert(item, digests: digests, body: nil, for: fields)
  }

  /// Variants of one URL that are kept: each look-up reads all.
  private static let mostVariants = 16

  /// Stores an item whose body has its file already. Without a row in the end, the file goes.
  func insert(_ item: CacheItem, digests: [UInt8], body: Data?, for fields: HTTPFields) {
    let record = CacheRecord(head: item.head, userInfo: item.userInfo.flatMap { CacheItem.encoded($0) }).encoded
    let recordData = Data(record.readableBytesView)
    let cost = recordData.count + digests.count + Int(item.head.bodyLength) + 128
    let key = CacheKey(url: item.head.url)
    let (uses, capacity) = (takeUses(), self.capacity)
    announce(key)
    // Others look for changes from now on: should this process end before it counts a second time, they find the row.
    countChange()
    defer { countChange() }
    // One transaction: each takes its time.
    let removed = withDatabase { database -> [Int64]? in
      try database.result(of: .immediate) { database in
        let old = try heads(for: key, in: database).filter { $0.head.isReplaced(by: item.head, fields) }.map(\.id)
        try delete(old, in: database)
        try database.cachedStatement(
          sql: """
            INSERT OR REPLACE INTO responses (id, number, record, digests, seal, body, size, cost, stored, used)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).execute(
          arguments: [
            item.id, key.number, recordData, Data(digests), CacheRecord.seal(recordData, digests), body,
            item.head.bodyLength, cost, item.stored.timeIntervalSince1970, Date().timeIntervalSince1970,
          ])
        let excess = try Int64.fetchAll(
          database, sql: "SELECT id FROM responses WHERE number = ? ORDER BY stored DESC LIMIT -1 OFFSET ?",
          arguments: [key.number, DiskCache.mostVariants])
        try delete(excess, in: database)
        return old + excess + (try trim(to: capacity, uses, in: database))
      }
    }
    removeFiles(removed ?? [item.id])
  }

  /// Removes the rows whose place an item takes that is itself not kept on disk.
  func removeReplaced(by item: CacheItem, _ fields: HTTPFields) {
    remove(CacheKey(url: item.head.url)) { $0.isReplaced(by: item.head, fields) }
  }

  /// Gives rows other heads, as far as they are there and have no later ones. False where the index could not be written.
  func write(_ heads: [(id: Int64, head: StoredHead)]) -> Bool {
    guard !heads.isEmpty else { return true }
    let isWritten = withDatabase(creates: false) { database -> Bool? in
      try database.write { database in
        for (id, head) in heads { try write(head, to: id, in: database) }
      }
      return true
    }
    // Without an index there are no rows.
    return isWritten ?? !isThere
  }

  private func write(_ head: StoredHead, to id: Int64, in database: Database) throws {
    let present = try database.cachedStatement(sql: "SELECT record, digests FROM responses WHERE id = ?")
    guard let row = try Row.fetchOne(present, arguments: [id]),
      let old = CacheRecord(ByteBuffer(bytes: try row.decode(Data.self, atIndex: 0))),
      // Another process may have asked the origin meanwhile.
      old.head.responseTime <= head.responseTime
    else { return }
    let record = Data(CacheRecord(head: head, userInfo: old.userInfo).encoded.readableBytesView)
    let digests = try row.decode(Data.self, atIndex: 1)
    try database.cachedStatement(sql: "UPDATE responses SET record = ?, seal = ?, used = ? WHERE id = ?").execute(
      arguments: [record, CacheRecord.seal(record, Array(digests)), Date().timeIntervalSince1970, id])
  }

  // MARK: Removing

  func remove(ids: [Int64]) {
    guard !ids.isEmpty else { return }
    _ = withDatabase(creates: false) { database -> Bool? in
      try database.write { try delete(ids, in: $0) }
      return true
    }
    removeFiles(ids)
  }

  /// Removes the rows of a key whose heads meet a condition.
  func remove(_ key: CacheKey, where condition: (StoredHead) -> Bool = { _ in true }) {
    let ids = withDatabase(creates: false) { database in
      try database.inDatabase { try heads(for: key, in: $0) }.filter { condition($0.head) }.map(\.id)
    }
    remove(ids: ids ?? [])
  }

  /// Removes what was stored after `date`; everything for nil.
  func remove(since date: Date?) {
    let ids = withDatabase(creates: false) { database -> [Int64]? in
      try database.write { database in
        let limit = date?.timeIntervalSince1970 ?? -.infinity
        let ids = try Int64.fetchAll(database, sql: "SELECT id FROM responses WHERE stored > ?", arguments: [limit])
        try database.execute(sql: "DELETE FROM responses WHERE stored > ?", arguments: [limit])
        return ids
      }
    }
    removeFiles(ids ?? [])
    _ = withDatabase(creates: false) { database -> Bool? in
      try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA incremental_vacuum") }
      return true
    }
  }

  private func delete(_ ids: [Int64], in database: Database) throws {
    let statement = try database.cachedStatement(sql: "DELETE FROM responses WHERE id = ?")
    for id in ids { try statement.execute(arguments: [id]) }
  }

  private func removeFiles(_ ids: [Int64]) {
    for id in ids { unlink(path(ofBody: id)) }
  }

  // MARK: Sizes

  /// Bytes in use, of all processes.
  func usage() -> Int {
    withDatabase(creates: false) { database in
      try database.read { try Int.fetchOne($0, sql: "SELECT cost FROM totals") }
    } ?? 0
  }

  /// Removes what was not used for longest until the rest fits.
  func trim() {
    let (uses, capacity) = (takeUses(), self.capacity)
    let removed = withDatabase(creates: false) { database in
      try database.result(of: .immediate) { try trim(to: capacity, uses, in: $0) }
    }
    removeFiles(removed ?? [])
  }

  private func trim(to capacity: Int, _ uses: [Int64: Double], in database: Database) throws -> [Int64] {
    let used = try database.cachedStatement(sql: "UPDATE responses SET used = ? WHERE id = ?")
    for (id, date) in uses { try used.execute(arguments: [date, id]) }
    let totals = try database.cachedStatement(sql: "SELECT cost FROM totals")
    var removed: [Int64] = []
    while let total = try Int.fetchOne(totals), total > capacity {
      let oldest = try Row.fetchAll(database, sql: "SELECT id, cost FROM responses ORDER BY used LIMIT 64")
      guard !oldest.isEmpty else { break }
      var excess = total - capacity
      var ids: [Int64] = []
      for row in oldest where excess > 0 {
        ids.append(try row.decode(Int64.self, atIndex: 0))
        // A negative cost is damage, and nothing would ever fit.
        excess -= max(0, try row.decode(Int.self, atIndex: 1))
      }
      try delete(ids, in: database)
      removed += ids
    }
    return removed
  }
}

extension DatabaseQueue {
  /// A transaction that gives something back.
  fileprivate func result<Value>(
    of kind: Database.TransactionKind, _ updates: (Database) throws -> Value
  ) throws -> Value? {
    var value: Value?
    try inTransaction(kind) { database in
      value = try updates(database)
      return .commit
    }
    return value
  }
}

extension CacheItem {
  /// nil for what no property list can hold.
  fileprivate static func encoded(_ userInfo: AppDictionary) -> Data? {
    let entries = userInfo.entries
    guard PropertyListSerialization.propertyList(entries, isValidFor: .binary) else { return nil }
    return try? PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0)
  }

  fileprivate static func userInfo(_ data: Data) -> AppDictionary? {
    let list = try? PropertyListSerialization.propertyList(from: data, format: nil)
    return (list as? [AnyHashable: Any]).map { AppDictionary($0) }
  }
}

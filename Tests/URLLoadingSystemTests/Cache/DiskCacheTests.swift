import Foundation
import GRDB
import SystemServices
import Testing

@testable import URLLoadingSystem

/// The disk tier, through `URLCache`.
@Suite struct DiskCacheTests {
  let place = TemporaryCache()

  /// Inline, in one block, in several blocks, given out as a file.
  @Test(arguments: [0, 1, 16_384, 16_385, 65_536, 65_537, 200_000, 300_000])
  func bodyIsThereForTheNextProcess(bytes: Int) throws {
    let data = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    place.cache().storeCachedResponse(try place.response(data, fields: ["A": "b"]), for: try place.request("a"))
    let found = try #require(place.cache().cachedResponse(for: try place.request("a#fragment")))
    #expect(found.data == data)
    #expect((found.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "a") == "b")
    #expect(found.storagePolicy == .allowed)
    #expect(place.cache().cachedResponse(for: try place.request("b")) == nil)
    #expect(place.bodies.count == (bytes > DiskCache.largestInline ? 1 : 0))
  }

  /// An empty body is no missing one, which would be looked for in a file.
  @Test func emptyBodyIsKeptInTheIndex() throws {
    let cache = place.cache()
    cache.storeCachedResponse(try place.response(Data(), fields: ["A": "b"]), for: try place.request("a"))
    let kinds = try DatabaseQueue(path: place.index.path).read {
      try String.fetchAll($0, sql: "SELECT typeof(body) FROM responses")
    }
    #expect(kinds == ["blob"])
    for cache in [cache, place.cache()] {
      let found = try #require(cache.cachedResponse(for: try place.request("a")))
      #expect(found.data.isEmpty)
      #expect((found.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "A") == "b")
    }
  }

  @Test func userInfoAndOtherResponsesAreKept() throws {
    let url = try #require(URL(string: "https://example.com/"))
    let plain = URLResponse(url: url, mimeType: "text/x", expectedContentLength: 2, textEncodingName: nil)
    let cache = place.cache()
    cache.storeCachedResponse(
      CachedURLResponse(response: plain, data: Data([1]), userInfo: ["k": 7], storagePolicy: .allowed),
      for: try place.request("plain"))
    let whole = try place.response(Data([1, 2]))
    cache.storeCachedResponse(
      CachedURLResponse(response: whole.response, data: whole.data, userInfo: ["k": ["v"]], storagePolicy: .allowed),
      for: try place.request("http"))
    let next = place.cache()
    #expect(next.cachedResponse(for: try place.request("plain"))?.response.mimeType == "text/x")
    #expect(next.cachedResponse(for: try place.request("plain"))?.userInfo?["k"] as? Int == 7)
    #expect(next.cachedResponse(for: try place.request("http"))?.userInfo?["k"] as? [String] == ["v"])
  }

  @Test func memoryOnlyResponsesStayInMemory() throws {
    let whole = try place.response(Data([1]))
    let cache = place.cache(memory: 10_000)
    cache.storeCachedResponse(
      CachedURLResponse(response: whole.response, data: whole.data, storagePolicy: .allowedInMemoryOnly),
      for: try place.request("a"))
    #expect(cache.cachedResponse(for: try place.request("a")) != nil)
    #expect(place.cache().cachedResponse(for: try place.request("a")) == nil)
    #expect(cache.currentDiskUsage == 0)
  }

  // MARK: Sizes

  @Test func bodyAboveATwentiethIsNotStored() throws {
    let cache = place.cache(disk: 1_000_000)
    cache.storeCachedResponse(try place.response(Data(count: 50_000)), for: try place.request("a"))
    cache.storeCachedResponse(try place.response(Data(count: 50_001)), for: try place.request("b"))
    #expect(cache.cachedResponse(for: try place.request("a")) != nil)
    #expect(cache.cachedResponse(for: try place.request("b")) == nil)
  }

  @Test func leastRecentlyUsedGoFirstAndAtOnce() throws {
    let cache = place.cache(disk: 1_000_000)
    for number in 0..<20 {
      cache.storeCachedResponse(try place.response(Data(count: 40_000)), for: try place.request("\(number)"))
    }
    _ = cache.cachedResponse(for: try place.request("0"))
    #expect((800_000...1_000_000).contains(cache.currentDiskUsage))
    cache.diskCapacity = 100_000
    #expect((40_000...100_000).contains(cache.currentDiskUsage))
    #expect(place.bodies.count == 2)
    #expect(cache.cachedResponse(for: try place.request("0")) != nil)
    #expect(cache.cachedResponse(for: try place.request("19")) != nil)
    #expect(cache.cachedResponse(for: try place.request("18")) == nil)
    cache.diskCapacity = 0
    #expect(cache.currentDiskUsage == 0 && place.bodies.isEmpty)
  }

  @Test func removingRemovesFromTheDisk() throws {
    let cache = place.cache()
    for path in ["a", "b", "c"] {
      cache.storeCachedResponse(try place.response(Data(count: 20_000)), for: try place.request(path))
    }
    cache.removeCachedResponse(for: try place.request("b"))
    let other = place.cache()
    #expect(other.cachedResponse(for: try place.request("b")) == nil)
    #expect(other.cachedResponse(for: try place.request("a")) != nil)
    other.removeCachedResponses(since: .distantFuture)
    #expect(place.cache().cachedResponse(for: try place.request("a")) != nil)
    other.removeCachedResponses(since: Date(timeIntervalSinceNow: -60))
    #expect(place.cache().cachedResponse(for: try place.request("a")) == nil)
    #expect(place.bodies.isEmpty)
  }

  @Test func laterResponseReplacesTheEarlier() throws {
    let cache = place.cache()
    cache.storeCachedResponse(try place.response(Data(count: 20_000)), for: try place.request("a"))
    let before = cache.currentDiskUsage
    cache.storeCachedResponse(try place.response(Data(count: 20_001)), for: try place.request("a"))
    #expect(cache.currentDiskUsage == before + 1)
    #expect(place.cache().cachedResponse(for: try place.request("a"))?.data.count == 20_001)
    #expect(place.bodies.count == 1)
  }

  // MARK: Damage

  @Test(arguments: [100, 20_000, 300_000]) func damagedBodyIsNotFound(bytes: Int) throws {
    place.cache().storeCachedResponse(try place.response(Data(repeating: 7, count: bytes)), for: try place.request("a"))
    if let body = place.bodies.first {
      var data = try Data(contentsOf: body)
      data[data.count / 2] ^= 1
      try data.write(to: body)
    } else {
      var data = try Data(contentsOf: place.index)
      // The row is in the log until a checkpoint.
      let log = URL(fileURLWithPath: place.index.path + "-wal")
      let isInLog = data.range(of: Data(repeating: 7, count: bytes)) == nil
      if isInLog { data = try Data(contentsOf: log) }
      let range = try #require(data.range(of: Data(repeating: 7, count: bytes)))
      data[range.lowerBound + 50] ^= 1
      try data.write(to: isInLog ? log : place.index)
    }
    #expect(place.cache().cachedResponse(for: try place.request("a")) == nil)
  }

  @Test func shortenedAndLostBodiesAreNotFound() throws {
    let cache = place.cache()
    for path in ["a", "b"] {
      cache.storeCachedResponse(try place.response(Data(count: 20_000)), for: try place.request(path))
    }
    _ = cache.currentDiskUsage
    let files = place.bodies
    try #require(files.count == 2)
    try FileManager.default.removeItem(at: files[0])
    try Data(count: 19_999).write(to: files[1])
    for path in ["a", "b"] { #expect(place.cache().cachedResponse(for: try place.request(path)) == nil) }
    #expect(place.cache().currentDiskUsage == 0)
  }

  @Test func damagedIndexIsSetAsideAndBegunAnew() throws {
    place.cache().storeCachedResponse(try place.response(Data(count: 20_000)), for: try place.request("a"))
    _ = place.cache().currentDiskUsage
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.index.path + suffix) }
    try Data(repeating: 1, count: 8_192).write(to: place.index)
    let cache = place.cache()
    #expect(cache.cachedResponse(for: try place.request("a")) == nil)
    cache.storeCachedResponse(try place.response(Data([9])), for: try place.request("a"))
    #expect(place.cache().cachedResponse(for: try place.request("a"))?.data == Data([9]))
    let damaged = place.folder.appendingPathComponent("damaged")
    #expect(FileManager.default.fileExists(atPath: damaged.path))
  }

  /// A value that is missing, or of another type, is damage and no end of the process.
  @Test(
    arguments: ["number", "record", "digests", "seal", "body", "size", "cost", "stored", "used"],
    ["NULL", "'x'", "7.5"])
  func damagedValuesAreNotFound(_ column: String, _ value: String) throws {
    for path in ["a", "b"] {
      place.cache().storeCachedResponse(try place.response(Data([1, 2])), for: try place.request(path))
    }
    try DatabaseQueue(path: place.index.path).write {
      try $0.execute(
        sql: """
          CREATE TABLE copy AS SELECT * FROM responses;
          DROP TABLE responses;
          ALTER TABLE copy RENAME TO responses;
          UPDATE responses SET \(column) = \(value);
          """)
    }
    let cache = place.cache()
    if let found = cache.cachedResponse(for: try place.request("a")) { #expect(found.data == Data([1, 2])) }
    cache.storeCachedResponse(try place.response(Data([3])), for: try place.request("b"))
    #expect(place.cache().cachedResponse(for: try place.request("b"))?.data == Data([3]))
    cache.diskCapacity = 1
    #expect(cache.cachedResponse(for: try place.request("b")) == nil)
  }

  @Test func folderThatCanNotBeMadeKeepsNothing() throws {
    try Data().write(to: place.folder)
    let cache = place.cache(memory: 1_000)
    cache.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    #expect(cache.cachedResponse(for: try place.request("a")) != nil)
    #expect(cache.currentDiskUsage == 0)
  }

  /// Each look-up reads all variants.
  @Test func someVariantsOfAURLAreKept() throws {
    let cache = place.cache(memory: 1_000_000)
    for number in 0..<40 {
      var request = try place.request("a")
      request.setValue("\(number)", forHTTPHeaderField: "X")
      cache.storeCachedResponse(try place.response(Data([UInt8(number)]), fields: ["Vary": "X"]), for: request)
    }
    let next = place.cache()
    var found = 0
    for number in 0..<40 {
      var request = try place.request("a")
      request.setValue("\(number)", forHTTPHeaderField: "X")
      if next.cachedResponse(for: request)?.data == Data([UInt8(number)]) { found += 1 }
    }
    #expect(found == 16)
  }

  @Test func othersCanNotReadTheIndex() throws {
    try FileManager.default.createDirectory(
      at: place.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    place.cache().storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    let mode = try FileManager.default.attributesOfItem(atPath: place.index.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  // MARK: Places

  @Test func relativePathIsBelowTheDefaultFolder() {
    let relative = URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: "own")
    #expect(relative.directory?.path == URLCache.defaultDirectory + "/own")
    #expect(URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: "/a/b").directory?.path == "/a/b")
    #expect(URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: nil).directory == nil)
  }

  @Test func sharedSessionUsesTheSharedCacheOfTheMoment() {
    #expect(LoadCache.current.cache === URLCache.shared)
  }

  @Test func cachesOfAppsAreListedAndCleared() throws {
    let folder = place.folder.appendingPathComponent("apps")
    let own = folder.appendingPathComponent("app/\(URLCache.folderName)")
    let cache = URLCache(memoryCapacity: 0, diskCapacity: 1_000_000, directory: own)
    for path in ["a", "b"] {
      cache.storeCachedResponse(
        try place.response(Data([1, 2]), fields: ["Cache-Control": "max-age=99"]), for: try place.request(path))
    }
    _ = cache.currentDiskUsage
    let kept = try #require(KeptResponses.all(in: folder.path).first)
    #expect(kept.app == "app")
    #expect(Set(kept.entries().map(\.url)) == ["https://example.com/a", "https://example.com/b"])
    #expect(kept.entries().allSatisfy { $0.isFresh && $0.size == 2 && $0.status == 200 })
    kept.clear(url: "https://example.com/a")
    #expect(kept.entries().map(\.url) == ["https://example.com/b"])
    kept.clear(url: nil)
    #expect(kept.entries().isEmpty)
  }

  // MARK: Several processes

  @Test func twoCachesShareAFolder() throws {
    let (one, two) = (place.cache(), place.cache())
    one.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    _ = one.currentDiskUsage
    #expect(two.cachedResponse(for: try place.request("a"))?.data == Data([1]))
    two.storeCachedResponse(try place.response(Data([2])), for: try place.request("a"))
    _ = two.currentDiskUsage
    #expect(one.cachedResponse(for: try place.request("a"))?.data == Data([2]))
    #expect(one.currentDiskUsage == two.currentDiskUsage)
  }

  @Test(arguments: [true, false]) func responseThatAnotherProcessStoresIsFoundAtOnce(_ isFirst: Bool) throws {
    let (one, two) = (place.cache(), place.cache())
    if !isFirst { one.storeCachedResponse(try place.response(Data([0])), for: try place.request("z")) }
    one.waitForDisk()
    // From here on the second one knows the index.
    #expect(two.cachedResponse(for: try place.request("a")) == nil)
    one.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    one.waitForDisk()
    if isFirst {
      // Whether there is an index at all is looked at once a second.
      let deadline = ContinuousClock.now + .seconds(10)
      while try two.cachedResponse(for: place.request("a")) == nil, ContinuousClock.now < deadline { sched_yield() }
    }
    #expect(two.cachedResponse(for: try place.request("a"))?.data == Data([1]))
  }

  @Test func responseThatAnotherProcessStoredIsRemoved() throws {
    let (one, two) = (place.cache(), place.cache())
    one.storeCachedResponse(try place.response(Data([0])), for: try place.request("z"))
    one.waitForDisk()
    #expect(two.cachedResponse(for: try place.request("a")) == nil)
    one.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    one.waitForDisk()
    two.removeCachedResponse(for: try place.request("a"))
    two.waitForDisk()
    #expect(one.cachedResponse(for: try place.request("a")) == nil)
    #expect(one.cachedResponse(for: try place.request("z")) != nil)
  }

  /// Without a counter every look-up would go to the disk.
  @Test func counterThatIsRemovedIsBegunAgain() throws {
    place.cache().storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    place.waitForDisk()
    let disk = DiskCache(directory: place.folder.path, capacity: 1_000_000)
    let (stored, missing) = (CacheKey("https://example.com/a"), CacheKey("https://example.com/b"))
    #expect(disk.queue.sync { disk.items(for: stored).count } == 1)
    #expect(!disk.mayHold(missing))
    try FileManager.default.removeItem(at: place.folder.appendingPathComponent(DiskCache.counterName))
    #expect(disk.mayHold(missing))
    #expect(disk.queue.sync { disk.items(for: missing).isEmpty })
    #expect(!disk.mayHold(missing) && disk.mayHold(stored))
    let other = place.cache()
    other.storeCachedResponse(try place.response(Data([2])), for: try place.request("b"))
    other.waitForDisk()
    #expect(disk.mayHold(missing))
    #expect(disk.queue.sync { disk.items(for: missing).count } == 1)
  }

  /// The counter of a new index begins at a number that no process has seen, its own writer included.
  @Test func writerOfANewIndexDoesNotAskItForOtherResponses() throws {
    let cache = place.cache()
    cache.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    cache.waitForDisk()
    let disk = try #require(cache.disk)
    #expect(disk.mayHold(CacheKey("https://example.com/a")))
    #expect(!disk.mayHold(CacheKey("https://example.com/b")))
  }

  /// A response that the origin confirms again and again has a new head each time.
  @Test func headsOfARowAreWrittenTogether() throws {
    let cache = place.cache()
    let key = CacheKey("https://example.com/a")
    cache.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    cache.waitForDisk()
    let disk = try #require(cache.disk)
    func found() -> CacheItem? { disk.queue.sync { disk.items(for: key).first } }
    func changes() -> Int? { disk.queue.sync { disk.withDatabase { try $0.read(\.totalChangesCount) } } }
    let item = try #require(found())
    let before = try #require(changes())
    disk.queue.suspend()
    for second in 1...50 {
      var head = item.head
      head.responseTime += Int64(second)
      _ = cache.update(item.id, head: head, foundAt: 0)
    }
    disk.queue.resume()
    // Before it is written, too.
    #expect(found()?.head.responseTime == item.head.responseTime + 50)
    cache.waitForDisk()
    #expect(try #require(changes()) - before < 50)
    let next = try #require(place.cache().disk)
    #expect(next.queue.sync { next.items(for: key).first }?.head.responseTime == item.head.responseTime + 50)
  }

  @Test func indexIsOpenedAndSetAsideUnderALock() throws {
    try FileManager.default.createDirectory(at: place.folder, withIntermediateDirectories: true)
    let lockPath = place.folder.appendingPathComponent(DiskCache.lockName).path
    let disk = DiskCache(directory: place.folder.path, capacity: 1_000_000, lockLimit: .zero)
    func isUsable() -> Bool { disk.queue.sync { disk.withDatabase { _ in true } } == true }
    func whileLocked(_ body: () throws -> Void) throws {
      let lock = try #require(try FileLock.acquire(lockPath))
      try withExtendedLifetime(lock) { try body() }
    }
    try whileLocked {
      #expect(!isUsable())
      #expect(!FileManager.default.fileExists(atPath: place.folder.appendingPathComponent(DiskCache.indexName).path))
    }
    // That another process took long is no reason to use no disk from then on.
    #expect(isUsable())
    try whileLocked {
      let value = disk.queue.sync {
        disk.withDatabase { _ -> Bool? in throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
      }
      #expect(value == nil)
      #expect(!FileManager.default.fileExists(atPath: place.folder.appendingPathComponent("damaged").path))
    }
    #expect(isUsable())
  }

  @Test func indexThatAnotherProcessSetAsideIsLeft() throws {
    let (one, two) = (place.cache(), place.cache())
    one.storeCachedResponse(try place.response(Data([1])), for: try place.request("a"))
    one.waitForDisk()
    #expect(two.cachedResponse(for: try place.request("a")) != nil)
    let moved = place.folder.appendingPathComponent("moved")
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.moveItem(atPath: place.index.path + suffix, toPath: moved.path + suffix)
    }
    #expect(two.cachedResponse(for: try place.request("a")) == nil)
    two.storeCachedResponse(try place.response(Data([2])), for: try place.request("a"))
    two.waitForDisk()
    #expect(one.cachedResponse(for: try place.request("a"))?.data == Data([2]))
  }
}

import Foundation
import HTTPSemantics
import NIOCore
import SystemServices

/// The cache as loads, and the public methods, use it.
extension URLCache {
  /// The disk tier; nil without capacity for one.
  var disk: DiskCache? {
    state.withLock { state in
      if let disk = state.disk { return disk }
      guard state.diskCapacity > 0 else { return nil }
      let disk = DiskCache(directory: directory?.path ?? URLCache.defaultDirectory, capacity: state.diskCapacity)
      state.disk = disk
      return disk
    }
  }

  /// Bodies up to here are kept in memory while they arrive, where there is a disk for larger ones.
  private static let largestInMemory = 128 * 1024

  var limits: CacheLimits {
    state.withLock { state in
      let onDisk = state.diskCapacity / 20
      let inMemory = state.memory.capacity
      guard onDisk > 0 else { return CacheLimits(largestBody: inMemory, largestInMemory: inMemory) }
      let small = min(inMemory, URLCache.largestInMemory)
      return CacheLimits(
        largestBody: max(onDisk, small),
        largestInMemory: onDisk > URLCache.largestInMemory ? URLCache.largestInMemory : small)
    }
  }

  // MARK: Finding

  /// A load does not see what another process stored in the last millisecond: it fetches, and saves two system calls.
  private static let unnoticedTime: UInt64 = 1_000_000

  /// The items in memory, the moment for `use`, and whether the disk may hold others.
  func look(_ key: CacheKey) -> (items: [CacheItem], moment: UInt64, disk: DiskCache?) {
    let (items, moment) = state.withLock {
      ($0.memory.isEmpty ? [] : $0.memory.items(for: key), $0.removals.moment)
    }
    guard let disk, disk.mayHold(key, unnoticed: URLCache.unnoticedTime) else { return (items, moment, nil) }
    return (items, moment, disk)
  }

  /// Whether the disk may hold what another process has stored and this one has not seen. A cheap question.
  func mayHaveNews(of key: CacheKey, _ disk: DiskCache) -> Bool {
    disk.mayHaveNews(of: key, unnoticed: URLCache.unnoticedTime)
  }

  /// Whether a look may find something. A cheap question.
  func mayHold(_ key: CacheKey) -> Bool {
    if state.withLock({ !$0.memory.isEmpty && $0.memory.holds(key) }) { return true }
    return disk?.mayHold(key, unnoticed: URLCache.unnoticedTime) ?? false
  }

  /// Puts together what is in memory and what is on disk.
  func join(_ inMemory: [CacheItem], _ onDisk: [CacheItem]) -> [CacheItem] {
    let known = Set(inMemory.map(\.id))
    return inMemory + onDisk.filter { !known.contains($0.id) }
  }

  /// Notes that an item was used. One that came from the disk is kept in memory if it is small, and nothing of its key was
  /// removed since `moment`, at which the look for it began.
  func use(_ item: CacheItem, foundAt moment: UInt64) {
    let key = CacheKey(url: item.head.url)
    let disk = state.withLock { state in
      if !state.memory.use(item.id), item.bytes != nil, item.cost <= state.memory.capacity / 8,
        state.removals.isCurrent(key, since: moment)
      {
        state.memory.store(item)
      }
      return state.disk
    }
    disk?.noteUse(of: item.id, at: Date())
  }

  // MARK: Changing

  /// Stores an item in place of those that a request with these fields would have been answered from.
  func store(_ collected: CacheWriter.Collected, as item: CacheItem, for fields: HTTPFields) {
    let key = CacheKey(url: item.head.url)
    state.withLock { state in
      state.removals.note(key)
      for old in state.memory.items(for: key) where old.isReplaced(by: item, fields) { state.memory.remove(old.id) }
      if case .bytes = collected { state.memory.store(item) }
    }
    guard let disk else { return }
    guard item.policy == .allowed, item.head.bodyLength <= disk.capacity / 20 else {
      if case .file(let spill, _) = collected { spill.abandon() }
      disk.queue.async { disk.removeReplaced(by: item, fields) }
      return
    }
    disk.announce(key)
    switch collected {
    case .bytes: disk.queue.async { disk.store(item, for: fields) }
    case .file(let spill, _): spill.commit(item, for: fields)
    }
  }

  /// Gives an item another head.
  /// - Returns: the moment for `use` of the changed item, where it was `moment` before.
  func update(_ id: Int64, head: StoredHead, foundAt moment: UInt64) -> UInt64 {
    let key = CacheKey(url: head.url)
    let (disk, changed) = state.withLock { state in
      let isCurrent = state.removals.isCurrent(key, since: moment)
      state.removals.note(key)
      state.memory.update(id, head: head)
      return (state.disk, isCurrent ? state.removals.moment : moment)
    }
    disk?.update(id, head: head)
    return changed
  }

  /// Removes the items of a key whose heads meet a condition.
  func remove(_ key: CacheKey, where condition: @escaping @Sendable (StoredHead) -> Bool = { _ in true }) {
    state.withLock { state in
      state.removals.note(key)
      for item in state.memory.items(for: key) where condition(item.head) { state.memory.remove(item.id) }
    }
    // Also where this process knows of no row: another one may just have written it.
    guard let disk else { return }
    disk.queue.async { disk.remove(key, where: condition) }
  }

  /// Removes an item whose body was found to be damaged.
  func discard(_ id: Int64) {
    state.withLock { $0.memory.remove(id) }
    guard let disk else { return }
    disk.queue.async { disk.remove(ids: [id]) }
  }

  /// Whether nothing can be found. A cheap question.
  var isKnownEmpty: Bool { state.withLock { $0.memory.isEmpty && ($0.disk?.isKnownEmpty ?? ($0.diskCapacity == 0)) } }

  // MARK: Choosing

  /// The fields of a request as loads send it, as far as they are the same for every session.
  static func selectingFields(of request: URLRequest) -> HTTPFields {
    var fields = request.headerFields
    DefaultRequestFields.complete(&fields, of: LoadRequest(request))
    if !fields.contains("Accept-Encoding") { fields.append("Accept-Encoding", ContentDecoding.accepted(fields)) }
    return fields
  }

  static func best(of items: [CacheItem], for request: URLRequest) -> CacheItem? {
    let whole = items.filter { $0.head.part == nil }
    guard whole.count > 1 else { return whole.first }
    let fields = selectingFields(of: request)
    let fitting = whole.filter { $0.head.selecting.match(fields) }
    return (fitting.isEmpty ? whole : fitting).max { $0.head.responseTime < $1.head.responseTime }
  }
}

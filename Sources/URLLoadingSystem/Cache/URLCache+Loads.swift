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

  /// The items in memory, and whether the disk may hold others.
  func look(_ key: CacheKey) -> (items: [CacheItem], disk: DiskCache?) {
    let items = state.withLock { $0.memory.isEmpty ? [] : $0.memory.items(for: key) }
    guard let disk, disk.mayHold(key) else { return (items, nil) }
    return (items, disk)
  }

  /// Puts together what is in memory and what is on disk.
  func join(_ inMemory: [CacheItem], _ onDisk: [CacheItem]) -> [CacheItem] {
    let known = Set(inMemory.map(\.id))
    return inMemory + onDisk.filter { !known.contains($0.id) }
  }

  /// Notes that an item was used. One that came from the disk is kept in memory if it is small.
  func use(_ item: CacheItem) {
    let disk = state.withLock { state in
      if !state.memory.use(item.id), item.bytes != nil, item.cost <= state.memory.capacity / 8 {
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
      for old in state.memory.items(for: key) where old.isReplaced(by: item, fields) { state.memory.remove(old.id) }
      if case .bytes = collected { state.memory.store(item) }
    }
    guard let disk else { return }
    guard item.policy == .allowed, item.head.bodyLength <= disk.capacity / 20 else {
      if case .file(let spill, _) = collected { spill.abandon() }
      if disk.mayHold(key) { disk.queue.async { disk.removeReplaced(by: item, fields) } }
      return
    }
    disk.announce(key)
    switch collected {
    case .bytes: disk.queue.async { disk.store(item, for: fields) }
    case .file(let spill, _): spill.commit(item, for: fields)
    }
  }

  func update(_ id: Int64, head: StoredHead) {
    let disk = state.withLock { state in
      state.memory.update(id, head: head)
      return state.disk
    }
    disk?.queue.async { disk?.update(id, head: head) }
  }

  /// Removes the items of a key whose heads meet a condition.
  func remove(_ key: CacheKey, where condition: @escaping @Sendable (StoredHead) -> Bool = { _ in true }) {
    state.withLock { state in
      for item in state.memory.items(for: key) where condition(item.head) { state.memory.remove(item.id) }
    }
    guard let disk, disk.mayHold(key) else { return }
    disk.queue.async { disk.remove(key, where: condition) }
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

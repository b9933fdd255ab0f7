import Foundation
import HTTPSemantics

/// The responses that a cache keeps in memory, the ones not used for longest going first. Not for several threads.
struct MemoryCacheTier {
  private final class Node {
    var item: CacheItem
    let cost: Int
    var newer: Node?
    weak var older: Node?

    init(_ item: CacheItem, cost: Int) {
      self.item = item
      self.cost = cost
    }
  }

  private var nodes: [Int64: Node] = [:]
  /// The items of a URL, the newest last.
  private var ids: [CacheKey: [Int64]] = [:]
  private var oldest: Node?
  private var newest: Node?
  /// Bytes in use.
  private(set) var usage = 0
  /// Most bytes in use; less throws out what is too much.
  var capacity: Int {
    didSet { trim() }
  }

  /// Variants of one URL that are kept.
  private static let mostVariants = 16

  init(capacity: Int) { self.capacity = capacity }

  /// All responses of a URL. Looking is not using: see `use`.
  func items(for key: CacheKey) -> [CacheItem] {
    guard let ids = ids[key] else { return [] }
    return ids.compactMap { nodes[$0]?.item }
  }

  /// Whether there is a response of a URL.
  func holds(_ key: CacheKey) -> Bool { ids[key] != nil }

  /// Makes the item the one that was used last. False when it is not here.
  @discardableResult
  mutating func use(_ id: Int64) -> Bool {
    guard let node = nodes[id] else { return false }
    unlink(node)
    append(node)
    return true
  }

  /// Keeps the item, if it fits at all.
  mutating func store(_ item: CacheItem) {
    remove(item.id)
    let cost = item.cost
    guard cost <= capacity else { return }
    let node = Node(item, cost: cost)
    nodes[item.id] = node
    let key = CacheKey(url: item.head.url)
    ids[key, default: []].append(item.id)
    if let variants = ids[key], variants.count > MemoryCacheTier.mostVariants, let first = variants.first {
      remove(first)
    }
    usage += cost
    append(node)
    trim()
  }

  /// Changes the head of an item that is here.
  mutating func update(_ id: Int64, head: StoredHead) {
    guard var item = nodes[id]?.item else { return }
    item.head = head
    item.object = nil
    store(item)
  }

  mutating func remove(_ id: Int64) {
    guard let node = nodes.removeValue(forKey: id) else { return }
    usage -= node.cost
    let key = CacheKey(url: node.item.head.url)
    ids[key]?.removeAll { $0 == id }
    if ids[key]?.isEmpty == true { ids[key] = nil }
    unlink(node)
  }

  mutating func removeAll() {
    // One by one: a long chain that frees itself would recurse as deep as it is long.
    for node in nodes.values { node.newer = nil }
    nodes.removeAll()
    ids.removeAll()
    oldest = nil
    newest = nil
    usage = 0
  }

  mutating func remove(since date: Date) {
    for (id, node) in nodes where node.item.stored > date { remove(id) }
  }

  var isEmpty: Bool { nodes.isEmpty }

  private mutating func trim() {
    while usage > capacity, let oldest { remove(oldest.item.id) }
  }

  private mutating func append(_ node: Node) {
    node.older = newest
    node.newer = nil
    if let newest { newest.newer = node } else { oldest = node }
    newest = node
  }

  private mutating func unlink(_ node: Node) {
    if let older = node.older { older.newer = node.newer } else { oldest = node.newer }
    if let newer = node.newer { newer.older = node.older } else { newest = node.older }
    node.older = nil
    node.newer = nil
  }
}

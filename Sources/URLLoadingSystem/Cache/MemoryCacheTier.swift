import Foundation

/// The responses that a cache keeps in memory, the ones not used for longest going first. Not for several threads.
struct MemoryCacheTier {
  private final class Node {
    let key: CacheKey
    var response: CachedURLResponse
    var cost: Int
    var stored: Date
    var newer: Node?
    weak var older: Node?

    init(key: CacheKey, response: CachedURLResponse, cost: Int, stored: Date) {
      self.key = key
      self.response = response
      self.cost = cost
      self.stored = stored
    }
  }

  private var nodes: [CacheKey: Node] = [:]
  private var oldest: Node?
  private var newest: Node?
  /// Bytes in use.
  private(set) var usage = 0
  /// Most bytes in use; less throws out what is too much.
  var capacity: Int {
    didSet { trim() }
  }

  init(capacity: Int) { self.capacity = capacity }

  mutating func response(for key: CacheKey) -> CachedURLResponse? {
    guard let node = nodes[key] else { return nil }
    unlink(node)
    append(node)
    return node.response
  }

  /// Keeps the response in place of an earlier one, if it fits at all.
  mutating func store(_ response: CachedURLResponse, for key: CacheKey, at now: Date) {
    remove(key)
    let cost = MemoryCacheTier.cost(of: response)
    guard cost <= capacity else { return }
    let node = Node(key: key, response: response, cost: cost, stored: now)
    nodes[key] = node
    usage += cost
    append(node)
    trim()
  }

  mutating func remove(_ key: CacheKey) {
    guard let node = nodes.removeValue(forKey: key) else { return }
    usage -= node.cost
    unlink(node)
  }

  mutating func removeAll() {
    // One by one: a long chain that frees itself would recurse as deep as it is long.
    for node in nodes.values { node.newer = nil }
    nodes.removeAll()
    oldest = nil
    newest = nil
    usage = 0
  }

  mutating func remove(since date: Date) {
    for (key, node) in nodes where node.stored > date { remove(key) }
  }

  private mutating func trim() {
    while usage > capacity, let oldest { remove(oldest.key) }
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

  /// The body, the header fields and a little for what holds them.
  private static func cost(of response: CachedURLResponse) -> Int {
    let fields = (response.response as? HTTPURLResponse)?.head.fields.fields ?? []
    return response.data.count + 256 + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

/// The key of a stored response (RFC 9111 §2): the method and the URL without its fragment.
struct CacheKey: Hashable, Sendable {
  let method: String
  let url: String

  /// nil for a request without a URL.
  init?(_ request: URLRequest) {
    guard let url = request.url?.absoluteString else { return nil }
    // A cached answer to GET also answers HEAD (RFC 9110 §9.3.2).
    let method = request.httpMethod ?? "GET"
    self.method = method == "HEAD" ? "GET" : method
    self.url = url.firstIndex(of: "#").map { String(url[..<$0]) } ?? url
  }
}

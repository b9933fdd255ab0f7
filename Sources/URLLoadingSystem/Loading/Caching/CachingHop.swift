import Foundation
import HTTPSemantics
import HTTPTransport
import NIOCore

/// The cache's part in one hop of a load: the request as it was before the cache added conditions, and what is stored for
/// it. Confined to the load's event loop.
final class CachingHop {
  private let loop: any EventLoop
  let cache: URLCache
  let key: CacheKey
  let request: CacheRequest
  private(set) var requestTime: Int64
  var items: [CacheItem] = []
  /// When the look for the items began.
  var moment: UInt64 = 0
  /// The fetch that other loads may wait for; nil where this load has none.
  var fetch: SharedFetch?
  /// Whether a response that is being fetched for another load may answer this one.
  private(set) lazy var mayShare = isPlain && request.mayShareFetch
  /// When a wait for another load's fetch ends at the latest; nil before the first one.
  var waitEnd: NIODeadline?
  /// The item that the origin was asked about.
  var validated: CacheItem?
  /// Whether the origin's word about the item was of no use.
  var isContradicted = false
  /// The item whose rest the origin was asked for, with the fields that the request had before.
  var completed: (item: CacheItem, fields: HTTPFields)?

  init(_ cache: URLCache, _ target: HTTPTarget, of run: PipelineRun) {
    self.cache = cache
    loop = run.context.loop
    key = run.cacheKey ?? CacheKey(target)
    let urlRequest = run.request.urlRequest
    let policy = urlRequest.isCachePolicySet ? urlRequest.cachePolicy : run.context.configuration.cachePolicy
    request = CacheRequest(
      method: urlRequest.httpMethod ?? "GET", fields: run.fields, usage: CacheUsage(policy),
      connectionUser: run.carried.flatMap { CachingHop.user(of: $0.proof.identity) })
    requestTime = CachingHop.now
  }

  /// Neither the load nor the copy of its body has an interest in the response any more.
  deinit { fetch?.end() }

  private static func user(of identity: ConnectionIdentity) -> String? {
    if case .authenticatedUser(let name) = identity { name } else { nil }
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970) }

  /// Whether the cache is not a subclass whose methods are to be called.
  var isPlain: Bool { type(of: cache) == URLCache.self }

  func decide() -> CacheDecision {
    loop.assertInEventLoop()
    return CacheDecision.decide(request, stored: items.map(\.head), now: CachingHop.now)
  }

  /// Begins anew after a wait for another load's fetch.
  func restart() {
    loop.assertInEventLoop()
    items = []
    requestTime = CachingHop.now
  }

  /// Whether a response with this head, once stored, answers the request.
  static func isAnswered(_ request: CacheRequest, by head: StoredHead) -> Bool {
    if case .use = CacheDecision.decide(request, stored: [head], now: now) { true } else { false }
  }

  /// Says whether the response that has come is of use to other loads, and to those that wait for it. Those that a response
  /// of use answers go on when it is stored.
  func tellOthers(_ head: StoredHead?) {
    loop.assertInEventLoop()
    guard fetch != nil || head != nil, mayShare else { return }
    let useful = head.flatMap { CachingHop.isAnswered(request, by: $0) ? $0 : nil }
    if let fetch {
      if let useful { fetch.announce(useful) } else { fetch.end(isUseful: false) }
    } else if useful != nil {
      cache.fetches.note(key, isUseful: true)
    }
  }

  /// The item that stands in for an error; nil for none.
  func replacementOfError() -> CacheItem? {
    loop.assertInEventLoop()
    let index = CachedHead.replacementOfError(among: items.map(\.head), for: request, now: CachingHop.now)
    return index.map { items[$0] }
  }

  // MARK: Changing what is stored

  func update(_ indices: [Int], _ heads: [StoredHead], for task: URLSessionDataTask?) {
    loop.assertInEventLoop()
    for (index, head) in zip(indices, heads) where items.indices.contains(index) {
      items[index].head = head
      items[index].object = nil
      if isPlain {
        moment = cache.update(items[index].id, head: head, foundAt: moment)
      } else if let task, let response = items[index].response {
        StoreQuestion.run { [cache] in cache.storeCachedResponse(response, for: task) }
      }
    }
  }

  /// Removes an item whose body was found to be damaged.
  func discard(_ item: CacheItem) {
    loop.assertInEventLoop()
    items.removeAll { $0.id == item.id }
    validated = nil
    cache.discard(item.id)
  }

  func removeMatching(for task: URLSessionDataTask?) {
    loop.assertInEventLoop()
    if isPlain {
      cache.remove(key) { [fields = request.fields] in $0.selecting.match(fields) }
    } else if let task {
      StoreQuestion.run { [cache] in cache.removeCachedResponse(for: task) }
    }
  }

  func invalidate(_ urls: [String]) {
    loop.assertInEventLoop()
    for url in urls {
      if isPlain {
        cache.remove(CacheKey(url))
      } else if let url = URL(string: url) {
        StoreQuestion.run { [cache] in cache.removeCachedResponse(for: URLRequest(url: url)) }
      }
    }
  }
}

extension CacheUsage {
  init(_ policy: URLRequest.CachePolicy) {
    switch policy {
    case .useProtocolCachePolicy: self = .protocolRules
    case .reloadIgnoringLocalCacheData: self = .reload
    case .returnCacheDataElseLoad: self = .preferStored
    case .returnCacheDataDontLoad: self = .onlyStored
    case .reloadIgnoringLocalAndRemoteCacheData: self = .reloadEverywhere
    case .reloadRevalidatingCacheData: self = .revalidate
    }
  }
}

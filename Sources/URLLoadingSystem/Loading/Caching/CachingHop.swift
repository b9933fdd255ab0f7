import Foundation
import HTTPSemantics
import NIOCore
import NIOPosix

/// The cache's part in one hop of a load: the request as it was before the cache added conditions, and what is stored for
/// it. Confined to the load's event loop.
final class CachingHop {
  let cache: URLCache
  let key: CacheKey
  let request: CacheRequest
  let requestTime: Int64
  var items: [CacheItem] = []
  /// The item that the origin was asked about.
  var validated: CacheItem?
  /// The item whose rest the origin was asked for, with the fields that the request had before.
  var completed: (item: CacheItem, fields: HTTPFields)?

  init(_ cache: URLCache, _ target: HTTPTarget, of run: PipelineRun) {
    self.cache = cache
    key = CacheKey(target)
    let urlRequest = run.request.urlRequest
    let policy = urlRequest.isCachePolicySet ? urlRequest.cachePolicy : run.context.configuration.cachePolicy
    request = CacheRequest(
      method: urlRequest.httpMethod ?? "GET", fields: run.fields, usage: CacheUsage(policy))
    requestTime = CachingHop.now
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970) }

  /// Whether the cache is not a subclass whose methods are to be called.
  var isPlain: Bool { type(of: cache) == URLCache.self }

  func decide() -> CacheDecision {
    CacheDecision.decide(request, stored: items.map(\.head), now: CachingHop.now)
  }

  /// The item that stands in for an error; nil for none.
  func replacementOfError() -> CacheItem? {
    items.first { CachedHead.mayReplaceError($0.head, for: request, now: CachingHop.now) }
  }

  // MARK: Changing what is stored

  func update(_ indices: [Int], _ heads: [StoredHead], for task: URLSessionDataTask?) {
    for (index, head) in zip(indices, heads) where items.indices.contains(index) {
      items[index].head = head
      items[index].object = nil
      if isPlain {
        cache.update(items[index].id, head: head)
      } else if let task, let response = items[index].response {
        CachingHop.callSubclass { [cache] in cache.storeCachedResponse(response, for: task) }
      }
    }
  }

  func removeMatching(for task: URLSessionDataTask?) {
    if isPlain {
      cache.remove(key) { [fields = request.fields] in $0.selecting.match(fields) }
    } else if let task {
      CachingHop.callSubclass { [cache] in cache.removeCachedResponse(for: task) }
    }
  }

  func invalidate(_ urls: [String]) {
    for url in urls {
      if isPlain {
        cache.remove(CacheKey(url))
      } else if let url = URL(string: url) {
        CachingHop.callSubclass { [cache] in cache.removeCachedResponse(for: URLRequest(url: url)) }
      }
    }
  }

  /// Methods of the app's may block.
  private static func callSubclass(_ call: @escaping @Sendable () -> Void) {
    NIOThreadPool.singleton.submit { state in if case .active = state { call() } }
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

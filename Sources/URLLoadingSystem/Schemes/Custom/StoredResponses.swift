import Foundation

/// The responses of the session's cache, as a protocol is given one.
struct StoredResponses: Sendable {
  /// nil where no stored response is wanted.
  private let cache: URLCache?

  init(for request: URLRequest, in configuration: LoadConfiguration) {
    switch request.isCachePolicySet ? request.cachePolicy : configuration.cachePolicy {
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: cache = nil
    case .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad, .reloadRevalidatingCacheData:
      cache = configuration.cache.cache
    }
  }

  /// The response to `request` that `type` accepts as such; nil when there is none. May wait for the disk.
  func response(for request: URLRequest, as type: URLProtocol.Type) -> CachedURLResponse? {
    guard let cache, Swift.type(of: cache) != URLCache.self || !cache.isKnownEmpty,
      let found = cache.cachedResponse(for: request), let offered = ProtocolOffer.current?.request,
      type.requestIsCacheEquivalent(offered, to: request)
    else { return nil }
    return found
  }
}

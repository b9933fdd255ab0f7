import Foundation

/// The sessions behind connections and downloads of the older API: one with a credential storage, and one for
/// connections whose delegate wants none. Both have the cache, and the cookies, of the same configuration.
final class ConnectionSessions: Sendable {
  /// With the shared stores.
  static let shared = ConnectionSessions()

  let stored: URLSession
  let unstored: URLSession
  private let isShared: Bool

  private init() {
    let configuration = URLSessionConfiguration.default
    stored = URLSession(shared: configuration)
    configuration.urlCredentialStorage = nil
    unstored = URLSession(shared: configuration)
    isShared = true
  }

  init(_ configuration: URLSessionConfiguration) {
    stored = URLSession(configuration: configuration)
    let copy = URLSessionConfiguration(copying: configuration)
    copy.urlCredentialStorage = nil
    unstored = URLSession(configuration: copy)
    isShared = false
  }

  /// False for a request that may be answered from the cache alone when nothing is stored for it.
  func mayAnswer(_ request: URLRequest) -> Bool {
    guard request.cachePolicy == .returnCacheDataDontLoad, request.url?.isHTTP == true else { return true }
    let cache = isShared ? URLCache.shared : stored.configuration.urlCache
    return cache?.cachedResponse(for: request) != nil
  }

  /// Loads `request` into memory, and calls `handler` on `lane`.
  func load(
    _ request: URLRequest, to lane: DeliveryLane,
    _ handler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) { stored.load(request, to: lane, handler) }
}

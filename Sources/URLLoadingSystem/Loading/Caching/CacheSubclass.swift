import Foundation

/// The calls of loads to a subclass of `URLCache`, whose methods may block.
enum CacheSubclass {
  /// The response that is stored for a task; nil when nothing is, or the handler is dropped.
  static func find(
    in cache: URLCache, for task: URLSessionDataTask, context: LoadContext
  ) async throws -> CachedURLResponse? {
    try await StoreQuestion.ask(nil, in: context) { answer in
      StoreQuestion.run { cache.getCachedResponse(for: task, completionHandler: answer) }
    }
  }

  /// Returns when the cache has stored a response, or the load is aborted.
  static func store(_ response: CachedURLResponse, in cache: URLCache, as key: Key, context: LoadContext) async {
    try? await StoreQuestion.ask((), in: context) { answer in
      StoreQuestion.run {
        switch key {
        case .task(let task): cache.storeCachedResponse(response, for: task)
        case .request(let request): cache.storeCachedResponse(response, for: request)
        }
        answer(())
      }
    }
  }

  enum Key: Sendable {
    case task(URLSessionDataTask)
    case request(URLRequest)
  }
}

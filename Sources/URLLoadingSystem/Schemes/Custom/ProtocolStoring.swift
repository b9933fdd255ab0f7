import Foundation
import NIOCore

/// Stores the response of a protocol, which has allowed it, once its body has passed. Confined to the load's event loop.
struct ProtocolStoring {
  private let request: URLRequest
  private let policy: URLCache.StoragePolicy
  private let context: LoadContext

  /// - Parameter request: In its canonical form.
  init(_ request: URLRequest, _ policy: URLCache.StoragePolicy, in context: LoadContext) {
    self.request = request
    self.policy = policy
    self.context = context
  }

  /// The response with a body of which a copy is taken on the way; the same response where it is not stored.
  func copying(_ loaded: LoadedResponse) -> LoadedResponse {
    context.loop.assertInEventLoop()
    guard let cache = context.configuration.cache.cache, context.client.storesResponses, CacheKey(request) != nil else {
      return loaded
    }
    let isPlain = type(of: cache) == URLCache.self
    let asksClient = context.client.loadMayChangeStoredResponse(context)
    var limits = cache.limits
    limits.largestInMemory = limits.largestBody
    guard limits.largestBody > 0, loaded.response.expectedContentLength <= Int64(limits.largestBody) else {
      return loaded
    }
    let writer = CacheWriter(limits: limits, disk: nil, on: context.loop)
    let (request, response, policy) = (self.request, loaded.response, self.policy)
    let proposal = { (collected: CacheWriter.Collected) -> CachedURLResponse? in
      guard case .bytes(let bytes) = collected else { return nil }
      return CachedURLResponse(response: response, data: Data(bytes.readableBytesView), storagePolicy: policy)
    }
    guard asksClient || !isPlain else {
      loaded.body.add(
        CacheCopy(writer, expecting: nil) { collected in
          if let proposal = proposal(collected) { cache.storeCachedResponse(proposal, for: request) }
        })
      return loaded
    }
    let box = Box()
    loaded.body.add(CacheCopy(writer, expecting: nil) { box.proposal = proposal($0) })
    let questioned = LoadBody(
      QuestionedBody(loaded.body, on: context.executor) {
        if let proposal = box.proposal { await store(proposal, in: cache, asksClient: asksClient) }
      }, in: context)
    return loaded.changed(body: questioned)
  }

  private final class Box {
    var proposal: CachedURLResponse?
  }

  /// Shows the client what is to be stored, and stores what it answers.
  private func store(_ proposal: CachedURLResponse, in cache: URLCache, asksClient: Bool) async {
    var answer: CachedURLResponse? = proposal
    if asksClient { answer = (try? await context.client.load(context, willStore: proposal)) ?? nil }
    guard let answer, answer.storagePolicy != .notAllowed else { return }
    let request = self.request
    guard type(of: cache) == URLCache.self else {
      let key = context.client.cachingTask.map { CacheSubclass.Key.task($0) } ?? .request(request)
      return await CacheSubclass.store(answer, in: cache, as: key, context: context)
    }
    try? await context.loop.blocking { cache.storeCachedResponse(answer, for: request) }
  }
}

import Foundation
import HTTPSemantics
import HTTPTransport
import Synchronization

/// Asks the origin about a stored response that was given out stale (RFC 5861 §3), in a load of its own.
enum BackgroundValidation {
  private struct Place: Hashable {
    let cache: ObjectIdentifier
    let key: CacheKey
  }

  /// One question at a time is enough for a response.
  private static let running = Mutex<Set<Place>>([])

  private final class Client: LoadClient {
    var storesResponses: Bool { true }
  }

  static func begin(_ run: PipelineRun, _ hop: CachingHop) {
    let place = Place(cache: ObjectIdentifier(hop.cache), key: hop.key)
    guard running.withLock({ $0.insert(place).inserted }) else { return }
    var request = run.request.urlRequest
    request.cachePolicy = .reloadRevalidatingCacheData
    let context = run.context.another(for: request.url, client: Client())
    let final = request
    context.loop.execute {
      context.start { context in
        await load(final, in: context)
        _ = running.withLock { $0.remove(place) }
      }
    }
  }

  private static func load(_ request: URLRequest, in context: LoadContext) async {
    context.loop.assertInEventLoop()
    let configuration = context.configuration
    context.control.startTimers(
      idle: configuration.timeoutIntervalForRequest, resource: configuration.timeoutIntervalForResource)
    if let loaded = try? await LoadPipeline.load(LoadRequest(request), in: context) {
      while (try? await loaded.body.next()) != nil {}
      loaded.body.finish()
    }
    context.control.finish()
  }
}

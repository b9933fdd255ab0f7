import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows the three kinds of configurations, a cache of the app's own, and that a session keeps the configuration that it
/// was made with. (URL Session Programming Guide, listings 1-2 to 1-4.)
///
///     EXAMPLES=1 swift run configurations http://localhost:8080
@main
struct Configurations {
  static func main() async {
    guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
      print("usage: configurations SERVER")
      exit(64)
    }
    do { try await run(on: server) } catch {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func run(on server: URL) async throws {
    let article = server.appendingPathComponent("article")

    // A default session keeps responses in a cache: here one with a folder of its own.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("configurations-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let defaultConfiguration = URLSessionConfiguration.default
    defaultConfiguration.urlCache = URLCache(
      memoryCapacity: 1_000_000, diskCapacity: 268_435_456, directory: folder)
    defaultConfiguration.requestCachePolicy = .useProtocolCachePolicy

    // An ephemeral session writes nothing to the disk. What a background session loads is loaded by another process.
    let ephemeralConfiguration = URLSessionConfiguration.ephemeral
    let backgroundConfiguration = URLSessionConfiguration.background(withIdentifier: "example.configurations")
    print("default: \(defaultConfiguration.urlCache?.diskCapacity ?? 0) bytes of cache on disk")
    print("ephemeral: \(ephemeralConfiguration.urlCache?.diskCapacity ?? 0) bytes of cache on disk")
    print("background: identifier \(backgroundConfiguration.identifier ?? "none")")

    let defaultSession = URLSession(configuration: defaultConfiguration)
    let ephemeralSession = URLSession(configuration: ephemeralConfiguration)

    // A configuration is copied when a session is made: changes are for the next session.
    ephemeralConfiguration.allowsCellularAccess = false
    let frugalSession = URLSession(configuration: ephemeralConfiguration)
    print("first ephemeral session: cellular access \(ephemeralSession.configuration.allowsCellularAccess)")
    print("second ephemeral session: cellular access \(frugalSession.configuration.allowsCellularAccess)")

    // The server numbers its answers, and allows a cache to keep each for a minute.
    let first = try await text(of: article, in: defaultSession)
    print("default session, again: \(try await text(of: article, in: defaultSession) == first ? "cached" : "loaded")")
    print("ephemeral session: \(try await text(of: article, in: ephemeralSession) == first ? "cached" : "loaded")")

    // A request may have a policy of its own.
    let reload = URLRequest(url: article, cachePolicy: .reloadIgnoringLocalCacheData)
    let second = try await text(of: reload, in: defaultSession)
    print("default session, without its cache: \(second == first ? "cached" : "loaded")")
    let cachedOnly = URLRequest(url: article, cachePolicy: .returnCacheDataDontLoad)
    print("default session, cache only: \(await isCached(cachedOnly, in: defaultSession))")

    // Sessions of one configuration share its cache; another configuration has another one.
    print("second ephemeral session, cache only: \(await isCached(cachedOnly, in: frugalSession))")
    let otherSession = URLSession(configuration: .ephemeral)
    print("another ephemeral session, cache only: \(await isCached(cachedOnly, in: otherSession))")
    for session in [defaultSession, ephemeralSession, frugalSession, otherSession] {
      session.finishTasksAndInvalidate()
    }
  }

  /// A request that only a cache may answer fails where none does.
  private static func isCached(_ request: URLRequest, in session: URLSession) async -> Bool {
    (try? await text(of: request, in: session)) != nil
  }

  private static func text(of url: URL, in session: URLSession) async throws -> String {
    try await text(of: URLRequest(url: url), in: session)
  }

  /// A resource with the system-provided delegate: one call, and a handler for the result.
  private static func text(of request: URLRequest, in session: URLSession) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      let task = session.dataTask(with: request) { data, response, error in
        guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else {
          return continuation.resume(throwing: error ?? URLError(.badServerResponse))
        }
        continuation.resume(returning: String(decoding: data, as: UTF8.self))
      }
      task.resume()
    }
  }
}

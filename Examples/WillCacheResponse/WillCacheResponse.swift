import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Shows a delegate that decides what a cache keeps: nothing that came over https reaches the disk, and each response
/// carries the time at which it was stored. (URL Session Programming Guide, listing 7-1.)
///
///     EXAMPLES=1 swift run will-cache-response http://localhost:8080 https://localhost:8443
///
/// The system has to trust the second. With a server of your own: `SSL_CERT_FILE=authority.pem` in the environment.
@main
struct WillCacheResponse {
  static func main() async {
    let servers = CommandLine.arguments.dropFirst().compactMap { URL(string: $0) }
    guard servers.count == 2, CommandLine.arguments.count == 3 else {
      print("usage: will-cache-response HTTP-SERVER HTTPS-SERVER")
      exit(64)
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cache-\(UUID().uuidString)")
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 10_000_000, directory: folder)
    defer { try? FileManager.default.removeItem(at: folder) }
    let configuration = URLSessionConfiguration.default
    configuration.urlCache = cache
    let delegate = CachingDelegate()
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)

    // The delegate is asked about data and upload tasks, when a response is complete and may be stored.
    let articles = servers.map { $0.appendingPathComponent("article") }
    let draft = servers[0].appendingPathComponent("draft")
    for url in articles + [draft] {
      session.dataTask(with: url).resume()
      for await _ in delegate.ends { break }
      guard let stored = cache.cachedResponse(for: URLRequest(url: url)) else {
        print("\(url.path) over \(url.scheme ?? ""): not stored")
        continue
      }
      let isDated = stored.userInfo?[CachingDelegate.dateKey] is Date
      print("\(url.path) over \(url.scheme ?? ""): stored \(place(of: stored)), with its date: \(isDated)")
    }
    session.finishTasksAndInvalidate()
  }

  private static func place(of response: CachedURLResponse) -> String {
    switch response.storagePolicy {
    case .allowed: "in memory and on disk"
    case .allowedInMemoryOnly: "in memory only"
    case .notAllowed: "nowhere"
    @unknown default: "somewhere"
    }
  }
}

final class CachingDelegate: NSObject, URLSessionDataDelegate {
  static let dateKey = "date"

  let (ends, end) = AsyncStream.makeStream(of: Void.self)

  /// The answer is what to store: the proposal, another response, or nothing.
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    guard let url = proposedResponse.response.url, url.lastPathComponent != "draft" else {
      return completionHandler(nil)
    }
    var userInfo = proposedResponse.userInfo ?? [:]
    userInfo[Self.dateKey] = Date()
    completionHandler(
      CachedURLResponse(
        response: proposedResponse.response, data: proposedResponse.data, userInfo: userInfo,
        storagePolicy: url.scheme == "https" ? .allowedInMemoryOnly : proposedResponse.storagePolicy))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error {
      print("failed: \(error.localizedDescription)")
      exit(1)
    }
    end.yield()
  }
}

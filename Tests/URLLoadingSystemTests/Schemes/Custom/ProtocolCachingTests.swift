import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// The session's cache and custom protocols.
@Suite struct ProtocolCachingTests {
  /// Answers with the stored response if there is one, and else as the script says.
  private final class Cached: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
      a.value(forHTTPHeaderField: "X-Fresh") == nil
    }

    override func startLoading() {
      if let cachedResponse {
        client?.urlProtocol(self, cachedResponseIsValid: cachedResponse)
        // As protocols do that tell what is in it as well.
        client?.urlProtocol(self, didReceive: cachedResponse.response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: cachedResponse.data)
        client?.urlProtocolDidFinishLoading(self)
        return
      }
      let policies: [String: URLCache.StoragePolicy] = ["/memory": .allowedInMemoryOnly, "/none": .notAllowed]
      guard let url = request.url,
        let response = HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Type": "text/plain"])
      else { return }
      client?.urlProtocol(
        self, didReceive: response, cacheStoragePolicy: policies[url.path] ?? .allowed)
      client?.urlProtocol(self, didLoad: Data("new ".utf8))
      client?.urlProtocol(self, didLoad: Data("body".utf8))
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
    let asked = Recorder<CachedURLResponse>()

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
      completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      asked.record(proposedResponse)
      completionHandler(
        CachedURLResponse(response: proposedResponse.response, data: Data("changed".utf8)))
    }
  }

  private func session(_ cache: URLCache, _ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Cached.self]
    configuration.urlCache = cache
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func text(_ request: URLRequest, _ session: URLSession) async throws -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  @Test(arguments: ["http", "myapp"]) func aStoredResponseIsGivenToTheProtocolAndMayAnswer(scheme: String) async throws
  {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
    let session = session(cache)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "\(scheme)://cached.test/"))
    var request = URLRequest(url: url)
    let response = try #require(HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: [:]))
    cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("stored".utf8)), for: request)
    #expect(try await text(request, session) == "stored")
    let (_, answer) = try await session.data(for: request)
    #expect((answer as? HTTPURLResponse)?.statusCode == 203)
    let (file, _) = try await session.download(for: request)
    #expect(try String(contentsOf: file, encoding: .utf8) == "stored")
    try FileManager.default.removeItem(at: file)
    // Not where the request or the class does not want it.
    request.setValue("1", forHTTPHeaderField: "X-Fresh")
    #expect(try await text(request, session) == "new body")
    request.setValue(nil, forHTTPHeaderField: "X-Fresh")
    cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("stored".utf8)), for: request)
    request.cachePolicy = .reloadIgnoringLocalCacheData
    #expect(try await text(request, session) == "new body")
  }

  static let policies: [(String, String?, URLCache.StoragePolicy)] = [
    ("/all", "new body", .allowed), ("/memory", "new body", .allowedInMemoryOnly), ("/none", nil, .notAllowed),
  ]

  @Test(arguments: policies)
  func thePolicyOfTheProtocolIsFollowed(path: String, stored: String?, policy: URLCache.StoragePolicy) async throws {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
    let session = session(cache)
    defer { session.invalidateAndCancel() }
    let request = URLRequest(url: try #require(URL(string: "http://policy.test\(path)")))
    #expect(try await text(request, session) == "new body")
    let found = cache.cachedResponse(for: request)
    #expect(found.map { String(decoding: $0.data, as: UTF8.self) } == stored)
    if let found { #expect(found.storagePolicy == policy) }
  }

  @Test func downloadsAndTheAnswersToOtherMethodsAreNotStored() async throws {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
    let session = session(cache)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: try #require(URL(string: "http://unstored.test/")))
    let (file, _) = try await session.download(for: request)
    try FileManager.default.removeItem(at: file)
    #expect(cache.cachedResponse(for: request) == nil)
    request.httpMethod = "DELETE"
    _ = try await session.data(for: request)
    #expect(cache.currentMemoryUsage == 0)
  }

  @Test func theDelegateIsAskedAboutWhatIsStored() async throws {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
    let delegate = Delegate()
    let session = session(cache, delegate)
    defer { session.invalidateAndCancel() }
    let request = URLRequest(url: try #require(URL(string: "http://asked.test/")))
    let ended = Gate()
    let task = session.dataTask(with: request)
    task.delegate = EndDelegate(ended)
    task.resume()
    try await ended.wait(within: patience)
    #expect(delegate.asked.all.map { String(decoding: $0.data, as: UTF8.self) } == ["new body"])
    #expect(cache.cachedResponse(for: request).map { String(decoding: $0.data, as: UTF8.self) } == "changed")
  }

  private final class EndDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    private let ended: Gate

    init(_ ended: Gate) { self.ended = ended }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      ended.open()
    }
  }

  /// A subclass of the cache is told by task.
  @Test func aSubclassOfTheCacheStoresByTask() async throws {
    final class Store: URLCache, @unchecked Sendable {
      // Sendable by hand: a recorder has a lock.
      let stored = Recorder<String>()

      override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        stored.record(String(decoding: cachedResponse.data, as: UTF8.self))
      }
    }
    let cache = Store(memoryCapacity: 1 << 20, diskCapacity: 0)
    let session = session(cache)
    defer { session.invalidateAndCancel() }
    _ = try await session.data(from: try #require(URL(string: "http://subclass.test/")))
    #expect(cache.stored.all == ["new body"])
  }
}

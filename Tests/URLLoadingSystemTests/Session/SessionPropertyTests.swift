import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct SessionPropertyTests {
  @Test func aSessionOfAConfigurationHasNoDelegateAndASerialQueueOfItsOwn() async throws {
    let session = URLSession(configuration: .ephemeral)
    #expect(session.delegate == nil)
    #expect(session.delegateQueue.maxConcurrentOperationCount == 1)
    #expect(session.delegateQueue !== URLSession(configuration: .ephemeral).delegateQueue)
    #expect(session.sessionDescription == nil)
    #expect((session.copy() as? URLSession) === session)
    #expect(try await session.data(from: try textURL("x")).0 == Data("x".utf8))
    session.finishTasksAndInvalidate()
  }

  @Test func aSessionKeepsDelegateAndQueueUntilItIsInvalid() async throws {
    final class Ending: NSObject, URLSessionDelegate, @unchecked Sendable {
      let endings = Recorder<(delegateIsThere: Bool, error: (any Error)?)>()
      func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        endings.record((session.delegate === self, error))
      }
    }
    let queue = serialQueue()
    let delegate = Ending()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
    #expect(session.delegate === delegate && session.delegateQueue === queue)
    session.finishTasksAndInvalidate()
    session.invalidateAndCancel()
    let ending = try await delegate.endings.next()
    #expect(ending.delegateIsThere && ending.error == nil)
    try await eventually("the delegate to be let go") { session.delegate == nil }
    #expect(delegate.endings.count == 1)
  }

  @Test func resetEmptiesTheStoresAndFlushLeavesThem() async throws {
    let session = URLSession(configuration: .ephemeral)
    let configuration = session.configuration
    let url = try #require(URL(string: "https://example.com/"))
    let cookie = try #require(
      HTTPCookie(properties: [.name: "n", .value: "v", .domain: "example.com", .path: "/"]))
    let space = URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: "r", authenticationMethod: nil)
    let response = CachedURLResponse(response: HTTPURLResponse(), data: Data([1]))
    configuration.httpCookieStorage?.setCookie(cookie)
    configuration.urlCredentialStorage?.set(
      URLCredential(user: "u", password: "p", persistence: .forSession), for: space)
    configuration.urlCache?.storeCachedResponse(response, for: URLRequest(url: url))

    await session.flush()
    #expect(configuration.httpCookieStorage?.cookies?.count == 1)
    #expect(configuration.urlCredentialStorage?.allCredentials.count == 1)
    #expect(configuration.urlCache?.cachedResponse(for: URLRequest(url: url)) != nil)
    await session.reset()
    #expect(configuration.httpCookieStorage?.cookies?.isEmpty == true)
    #expect(configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    #expect(configuration.urlCache?.cachedResponse(for: URLRequest(url: url)) == nil)
    session.finishTasksAndInvalidate()
  }

  /// The calling thread may be one of the few that Swift has for tasks.
  @Test func resetDoesNotWaitForAStore() async throws {
    final class SlowCache: URLCache, @unchecked Sendable {
      // Sendable by hand: constants.
      let mayEmpty = DispatchSemaphore(value: 0)
      let waits = Recorder<DispatchTimeoutResult>()

      override func removeAllCachedResponses() { waits.record(mayEmpty.wait(timeout: .now() + 5)) }
    }
    let cache = SlowCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = cache
    let session = URLSession(configuration: configuration)
    let isReset = Gate()
    session.reset { isReset.open() }
    cache.mayEmpty.signal()
    #expect(try await cache.waits.next() == .success)
    try await isReset.wait(within: patience)
    session.finishTasksAndInvalidate()
  }

  @Test func handlersOfResetFlushAndListsRunOnTheDelegateQueue() async throws {
    let queue = serialQueue()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let seen = Recorder<Bool>()
    session.reset { seen.record(OperationQueue.current === queue) }
    session.flush { seen.record(OperationQueue.current === queue) }
    session.getAllTasks { seen.record($0.isEmpty && OperationQueue.current === queue) }
    session.getTasksWithCompletionHandler {
      seen.record($0.isEmpty && $1.isEmpty && $2.isEmpty && OperationQueue.current === queue)
    }
    #expect(try await seen.first(4) == [true, true, true, true])
    session.finishTasksAndInvalidate()
  }

  private func requireSendable<Value: Sendable>(_ type: Value.Type) {}

  /// Compiles: what Apple's SDK marks Sendable is.
  @Test func whatCrossesThreadsIsSendable() {
    requireSendable(URLSession.self)
    requireSendable(URLSessionTask.self)
    requireSendable(URLSessionConfiguration.self)
    requireSendable(URLSessionTaskMetrics.self)
    requireSendable(URLSessionTaskTransactionMetrics.self)
    requireSendable((any URLSessionDelegate).self)
    requireSendable(URLRequest.self)
    requireSendable(URLResponse.self)
    requireSendable(HTTPURLResponse.self)
    requireSendable(URLCache.self)
    requireSendable(CachedURLResponse.self)
    requireSendable(HTTPCookie.self)
    requireSendable(HTTPCookieStorage.self)
    requireSendable(URLCredential.self)
    requireSendable(URLCredentialStorage.self)
    requireSendable(URLProtectionSpace.self)
    requireSendable(URLAuthenticationChallenge.self)
    requireSendable(URLSession.AsyncBytes.self)
    requireSendable(URLSession.AsyncBytes.Iterator.self)
  }
}

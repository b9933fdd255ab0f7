import EveryVersion
import Foundation
import LoopbackServer
import NIOPosix
import Testing

@testable import URLLoadingSystem

/// The wait behind `Data(contentsOf:)`.
@Suite(.timeLimit(.minutes(1))) struct RemoteContentsTests {
  /// Runs `body` with a session of the test's and a server, over the version of HTTP that the test is about.
  private func withSession(
    queue: OperationQueue? = nil, _ handler: @escaping LoopbackServer.Handler,
    _ body: (LoopbackServer, URLSession) async throws -> Void
  ) async throws {
    try await withServer(handler) { server in
      let session = URLSession(configuration: .loopback, delegate: nil, delegateQueue: queue)
      defer { session.invalidateAndCancel() }
      try await body(server, session)
    }
  }

  private func load(_ url: URL, in session: URLSession) throws -> String {
    String(decoding: try RemoteContents(of: url, in: session).data, as: UTF8.self)
  }

  @Test(.overHTTP1To3) func theContentsComeWithTheirCharset() async throws {
    try await withSession({
      $0.target == "/old" ? .redirect(to: "/new") : .ok($0.target, type: "text/plain; charset=ISO-8859-1")
    }) { server, session in
      let contents = try RemoteContents(of: server.url("/old"), in: session)
      #expect(contents.data == Data("/new".utf8))
      #expect(contents.textEncodingName?.lowercased() == "iso-8859-1")
      #expect(server.requests.map(\.method) == ["GET", "GET"])
    }
  }

  @Test(arguments: [(200, true), (203, true), (401, true), (403, false), (404, false), (410, false), (500, false)])
  func theStatusDecidesWhetherThereAreContents(_ status: Int, _ isAnswer: Bool) async throws {
    try await withSession({ _ in .status(status, body: "body") }) { server, session in
      guard !isAnswer else {
        let text = try load(server.url(), in: session)
        return #expect(text == "body")
      }
      let error = #expect(throws: CocoaError.self) { try load(server.url(), in: session) }
      #expect(error?.code == .fileReadUnknown && error?.userInfo[NSURLErrorKey] as? URL == server.url())
      #expect((error?.underlying as? URLError)?.code == .badServerResponse)
      #expect(error?.localizedDescription.contains("\(status)") == true)
    }
  }

  @Test(.overHTTP1To3) func aLoadThatFailsIsTheCause() async throws {
    try await withSession({ _ in .truncated(declared: 100, sent: 10) }) { server, session in
      let error = #expect(throws: CocoaError.self) { try load(server.url(), in: session) }
      let cause = error?.underlying as? URLError
      #expect(error?.code == .fileReadUnknown)
      #expect(cause?.code == .networkConnectionLost && cause?.failingURL == server.url())
      #expect(error?.localizedDescription == cause?.localizedDescription)
    }
  }

  @Test func aSchemeThatNoLoaderServesIsNotSupported() throws {
    let url = try #require(URL(string: "gopher://host/x"))
    let error = #expect(throws: CocoaError.self) { try RemoteContents(of: url) }
    #expect(error?.code == .fileReadUnsupportedScheme && (error?.underlying as? URLError)?.code == .unsupportedURL)
  }

  /// Every thread of Swift's executor waits: the answer must not need one of them.
  @Test(.overHTTP1To3) func manyTasksMayWait() async throws {
    try await withSession({ .ok($0.target) }) { server, session in
      let urls = (0..<4 * ProcessInfo.processInfo.activeProcessorCount).map { server.url("/\($0)") }
      let texts = try await withThrowingTaskGroup(of: String.self) { group in
        for url in urls { group.addTask { try load(url, in: session) } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(texts == Set(urls.map(\.path)))
    }
  }

  @Test(.overHTTP1To3) func theMainThreadMayWaitThoughItsQueueIsTheDelegates() async throws {
    try await withSession(queue: .main, { .ok($0.target) }) { server, session in
      let url = server.url("/main")
      let text = try await MainActor.run { try load(url, in: session) }
      #expect(text == "/main")
    }
  }

  @Test(.overHTTP1To3) func aCompletionHandlerMayWaitForTheSameSession() async throws {
    try await withSession({ .ok($0.target) }) { server, session in
      let url = server.url("/inner")
      let inner = try await withCheckedThrowingContinuation { continuation in
        let task = session.dataTask(with: server.url("/outer")) { _, _, _ in
          continuation.resume(with: Result { try load(url, in: session) })
        }
        task.resume()
      }
      #expect(inner == "/inner")
    }
  }

  /// The loops of SwiftNIO's shared group are the library's. A loop of another group may wait, though it should not.
  @Test(.overHTTP1To3) func onlyLoopsThatBringTheAnswerMustNotWait() async throws {
    try await withSession({ .ok($0.target) }) { server, session in
      let url = server.url("/loop")
      let own = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let answer = try await own.next().submit { try load(url, in: session) }.get()
      #expect(answer == "/loop")
      try await own.shutdownGracefully()
      let shared = MultiThreadedEventLoopGroup.singleton.next().submit { try load(url, in: session) }
      let error = await #expect(throws: CocoaError.self) { try await shared.get() }
      #expect((error?.underlying as? URLError)?.code == .cannotLoadFromNetwork)
      #expect(server.requests.count == 1)
    }
  }
}

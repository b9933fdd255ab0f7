import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Synchronous requests, and those with a completion handler.
@Suite struct NSURLConnectionCallTests {
  private typealias Answer = Result<(String, Int?), any Error>

  /// On a thread of its own, as the guide asks of apps.
  @available(*, deprecated)
  private func load(_ request: URLRequest, in sessions: ConnectionSessions) async -> Answer {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var response: URLResponse?
        let answer = Answer {
          let data = try NSURLConnection.sendSynchronousRequest(request, returning: &response, in: sessions)
          return (String(decoding: data, as: UTF8.self), (response as? HTTPURLResponse)?.statusCode)
        }
        continuation.resume(returning: answer)
      }
    }
  }

  @available(*, deprecated)
  @Test func theAnswerIsReturned() async throws {
    try await withConnections({
      switch $0.target {
      case "/old": .redirect(to: "/new")
      case "/new": .ok("new")
      default: .status(404, body: "none")
      }
    }) { server, sessions in
      let found = try await load(URLRequest(url: server.url("/old")), in: sessions).get()
      #expect(found == ("new", 200))
      let missing = try await load(URLRequest(url: server.url("/x")), in: sessions).get()
      #expect(missing == ("none", 404))
    }
  }

  @available(*, deprecated)
  @Test func thePublicCallsAnswer() async throws {
    let request = URLRequest(url: try textURL("x"))
    let queue = serialQueue()
    let seen = Recorder<String>()
    queue.addOperation {
      var response: URLResponse?
      let data = try? NSURLConnection.sendSynchronousRequest(request, returning: &response)
      seen.record(String(decoding: data ?? Data(), as: UTF8.self) + (response?.mimeType ?? ""))
      let other = try? NSURLConnection.sendSynchronousRequest(request, returning: nil)
      seen.record(String(decoding: other ?? Data(), as: UTF8.self))
    }
    #expect(try await seen.first(2) == ["xtext/plain", "x"])
  }

  @available(*, deprecated)
  @Test func aFailureIsThrown() async throws {
    let sessions = ConnectionSessions(.loopback)
    defer { sessions.end() }
    let url = try #require(URL(string: "gopher://host/x"))
    let answer = await load(URLRequest(url: url), in: sessions)
    let error = #expect(throws: URLError.self) { try answer.get() }
    #expect(error?.code == .unsupportedURL && error?.failingURL == url)
  }

  /// A credential of the URL is tried; the response to a refused one is the result.
  @available(*, deprecated)
  @Test func credentialsComeFromTheURL() async throws {
    try await withConnections({
      $0.value("Authorization") == basic("ann", "1") ? .ok("in") : .unauthorized(#"Basic realm="r""#, body: "no")
    }) { server, sessions in
      for (password, expected) in [("2", "no"), ("1", "in")] {
        var parts = try #require(URLComponents(url: server.url(), resolvingAgainstBaseURL: false))
        (parts.user, parts.password) = ("ann", password)
        let answer = try await load(URLRequest(url: try #require(parts.url)), in: sessions).get()
        #expect(answer.0 == expected)
      }
    }
  }

  /// All threads of the pool that queues share wait for an answer: it must not need one of them.
  @available(*, deprecated)
  @Test func manyWaitingThreadsDoNotKeepTheAnswersBack() async throws {
    let gate = Gate()
    let count = 12
    try await withConnections({ _ in Reply([.waitFor(gate)]).followed(by: Reply.ok("x").steps) }) { server, sessions in
      let seen = Recorder<String>()
      let request = URLRequest(url: server.url())
      // Threads of their own: those of Dispatch, which Swift's tasks run on, too, come back one a second.
      for _ in 0..<count {
        Thread.detachNewThread {
          let data = try? NSURLConnection.sendSynchronousRequest(request, returning: nil, in: sessions)
          seen.record(String(decoding: data ?? Data(), as: UTF8.self))
        }
      }
      for _ in 0..<6 { _ = try await server.nextRequest() }
      gate.open()
      #expect(try await seen.first(count) == Array(repeating: "x", count: count))
    }
  }

  /// The delegate queue of a connection, and the only thread of a run loop.
  @available(*, deprecated)
  @Test func itWaitsWhereOtherConnectionsReport() async throws {
    try await withConnections({ .ok($0.target) }) { server, sessions in
      let log = ConnectionRecorder()
      let request = URLRequest(url: server.url("/inner"))
      let inner = Recorder<String>()
      log.onEvent = { _, event in
        guard event == "response" else { return }
        let data = try? NSURLConnection.sendSynchronousRequest(request, returning: nil, in: sessions)
        inner.record(String(decoding: data ?? Data(), as: UTF8.self))
      }
      let url = server.url("/outer")
      try await onRunLoop(log) {
        _ = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.text == "/outer" && inner.all == ["/inner"])
    }
  }

  @available(*, deprecated)
  @Test func theCompletionHandlerRunsOnItsQueue() async throws {
    let queue = serialQueue()
    let seen = Recorder<String>()
    NSURLConnection.sendAsynchronousRequest(URLRequest(url: try textURL("x")), queue: queue) { response, data, error in
      #expect(OperationQueue.current === queue && error == nil)
      seen.record(String(decoding: data ?? Data(), as: UTF8.self) + (response?.mimeType ?? ""))
    }
    let url = try #require(URL(string: "gopher://host/x"))
    NSURLConnection.sendAsynchronousRequest(URLRequest(url: url), queue: queue) { response, data, error in
      #expect(OperationQueue.current === queue && response == nil && data == nil)
      seen.record("\((error as? URLError)?.code.rawValue ?? 0)")
    }
    #expect(Set(try await seen.first(2)) == ["xtext/plain", "-1002"])
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Statuses that ask for the request once more (RFC 9110 §10.2.3, §15.5.9, §15.5.20).
@Suite(.overEveryVersion) struct RetryTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let description: String
    var method = "GET"
    let status: Int
    var retryAfter: String?
    /// How many requests reach a server that answers each with the status.
    let requests: Int

    var testDescription: String { description }

    init(_ description: String, _ method: String, _ status: Int, retryAfter: String? = nil, requests: Int) {
      self.description = description
      self.method = method
      self.status = status
      self.retryAfter = retryAfter
      self.requests = requests
    }

    static let all = [
      Case("408 repeats a GET once", "GET", 408, requests: 2),
      Case("408 repeats a PUT once", "PUT", 408, requests: 2),
      Case("408 does not repeat a POST", "POST", 408, requests: 1),
      Case("408 that asks to wait is the result", "GET", 408, retryAfter: "1", requests: 1),
      Case("421 repeats a GET once", "GET", 421, requests: 2),
      Case("421 repeats a POST once", "POST", 421, requests: 2),
      Case("503 without Retry-After is the result", "GET", 503, requests: 1),
      Case("503 that is over at once repeats a GET", "GET", 503, retryAfter: "0", requests: 2),
      Case(
        "503 that was over long ago repeats a GET", "GET", 503, retryAfter: "Mon, 01 Jan 2024 00:00:00 GMT", requests: 2
      ),
      Case("503 that is over at once does not repeat a POST", "POST", 503, retryAfter: "0", requests: 1),
      Case("503 that asks to wait is the result", "GET", 503, retryAfter: "2", requests: 1),
      Case("503 with an unreadable Retry-After is the result", "GET", 503, retryAfter: "soon", requests: 1),
      Case("500 is the result", "GET", 500, requests: 1),
    ]
  }

  @Test(arguments: Case.all) func theSecondSuchResponseIsTheResult(_ test: Case) async throws {
    let requests = Recorder<String>()
    try await withServer({ request in
      requests.record(request.method)
      return .status(test.status, fields: test.retryAfter.map { [("Retry-After", $0)] } ?? [], body: "sorry")
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = test.method
      let (data, response) = try await session.data(for: request)
      #expect((response as? HTTPURLResponse)?.statusCode == test.status)
      #expect(String(decoding: data, as: UTF8.self) == "sorry")
      #expect(requests.all.count == test.requests)
    }
  }

  @Test(arguments: [408, 421]) func theRepetitionBringsTheBodyAgain(status: Int) async throws {
    let bodies = Recorder<String>()
    try await withServer({ request in
      bodies.record(request.body.text)
      return bodies.all.count == 1 ? .status(status) : .ok("fine")
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      request.httpBody = Data("content".utf8)
      let (data, _) = try await session.data(for: request)
      #expect(String(decoding: data, as: UTF8.self) == "fine")
      #expect(bodies.all == ["content", "content"])
    }
  }

  /// The connection that led to the wrong server is not used for the repetition.
  @Test func aMisdirectedRequestIsRepeatedOnAnotherConnection() async throws {
    let requests = Recorder<Void>()
    try await withServer({ _ in
      requests.record(())
      return requests.all.count == 1 ? .status(421) : .ok("fine")
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, _) = try await session.data(from: server.url())
      #expect(String(decoding: data, as: UTF8.self) == "fine")
      #expect(server.connectionCount == 2)
    }
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct RedirectTests {
  @Test(
    .overEveryVersion,
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
      (301, "PUT", "PUT"), (303, "HEAD", "HEAD"),
    ])
  func methodsAndBodies(_ status: Int, _ method: String, _ expected: String) async throws {
    try await withServer({ $0.target == "/old" ? .redirect(to: "new?x", status: status) : .ok("") }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = method
      if method != "HEAD" { request.httpBody = Data("body".utf8) }
      let (_, response) = try await session.data(for: request)
      #expect(response.url == server.url("/new?x"))
      let last = try #require(server.requests.last)
      #expect(last.method == expected)
      #expect(last.value("Content-Length") == (expected == method && method != "HEAD" ? "4" : nil))
      #expect(server.connectionCount == 1)
    }
  }

  @Test(.overEveryVersion) func sixteenAreFollowedAndOneMoreFails() async throws {
    try await withServer({ request in
      let number = Int(request.target.dropFirst()) ?? 0
      return number == 0 ? .ok("end") : .redirect(to: "/\(number - 1)")
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, _) = try await session.data(from: server.url("/16"))
      #expect(String(decoding: data, as: UTF8.self) == "end")
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/17")) }
      #expect(error?.code == .httpTooManyRedirects)
    }
  }

  @Test(.overEveryVersion) func aRedirectToNowhereIsAnError() async throws {
    try await withServer({ _ in .status(302) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .redirectToNonExistentLocation)
    }
  }

  /// Credentials meant for one origin do not reach another.
  @Test(.overEveryVersion) func credentialsStayWithTheirOrigin() async throws {
    let other = try await LoopbackServer.start { _ in .ok("") }
    try await withServer({
      $0.target == "/same"
        ? .redirect(to: "/here")
        : $0.target == "/here"
          ? .ok("")
          : .redirect(to: other.url("/there").absoluteString)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for target in ["/same", "/other"] {
        var request = URLRequest(url: server.url(target))
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        request.setValue("a=b", forHTTPHeaderField: "Cookie")
        request.setValue("kept", forHTTPHeaderField: "X-Mine")
        _ = try await session.data(for: request)
      }
      let here = try #require(server.requests.first { $0.target == "/here" })
      #expect(here.value("Authorization") == "Bearer secret")
      let there = try #require(other.requests.last)
      #expect(there.value("Authorization") == nil)
      #expect(there.value("Cookie") == nil)
      #expect(there.value("X-Mine") == "kept")
    }
    try await other.expectNoOpenConnections()
    await other.shutdown()
  }

  /// `localhost` and `127.0.0.1` are hosts of different loops as often as not; the body must cross either way.
  @Test func aBodyComesFromAnyHost() async throws {
    let count: Int64 = 3_000_000
    try await withServer({ request in
      if let name = request.value("Host")?.split(separator: ":").first, name == "127.0.0.1" {
        return .redirect(to: "http://localhost:\(request.value("Host")?.split(separator: ":").last ?? "")/next")
      }
      return .pattern(BytePattern(), count: count)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, response) = try await session.data(from: server.url("/start"))
      #expect(response.url?.host == "localhost")
      #expect(Int64(data.count) == count && BytePattern().matches(data))
    }
  }

  /// The body given to the factory is sent on every hop, whatever body the request has.
  @Test(.overEveryVersion) func theTasksOwnBodyWinsOnEveryHop() async throws {
    try await withServer({ $0.target == "/old" ? .redirect(to: "/new", status: 307) : .ok("") }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = "POST"
      request.httpBody = Data("the request's".utf8)
      _ = try await session.upload(for: request, from: Data("the task's".utf8))
      #expect(server.requests.map(\.body.text) == ["the task's", "the task's"])
    }
  }
}

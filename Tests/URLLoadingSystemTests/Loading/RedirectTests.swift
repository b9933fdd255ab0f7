import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct RedirectTests {
  @Test(
    .overHTTP1To3,
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
      (301, "PUT", "PUT"), (303, "HEAD", "GET"),
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

  @Test(.overHTTP1To3) func sixteenAreFollowedAndOneMoreFails() async throws {
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

  @Test(.overHTTP1To3) func aRedirectToNowhereIsAnError() async throws {
    try await withServer({ _ in .status(302) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .redirectToNonExistentLocation)
    }
  }

  /// Credentials meant for one origin do not reach another.
  /// Whether the credentials are the request's own or the session's for all its requests.
  @Test(.overHTTP1To3, arguments: [false, true])
  func credentialsStayWithTheirOrigin(areTheSessions: Bool) async throws {
    let other = try await LoopbackServer.start { _ in .ok("") }
    try await withServer({
      $0.target == "/same"
        ? .redirect(to: "/here")
        : $0.target == "/here"
          ? .ok("")
          : .redirect(to: other.url("/there").absoluteString)
    }) { server in
      let fields = ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Mine": "kept"]
      let configuration = URLSessionConfiguration.loopback
      if areTheSessions { configuration.httpAdditionalHeaders = fields }
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      for target in ["/same", "/other"] {
        var request = URLRequest(url: server.url(target))
        if !areTheSessions { request.allHTTPHeaderFields = fields }
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
  @Test(.overHTTP1To3) func theTasksOwnBodyWinsOnEveryHop() async throws {
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

  // MARK: What the delegate answers

  /// Sends one request that `server` redirects and has the delegate answer.
  private func load(
    _ request: URLRequest, upload: Data? = nil, _ answer: @escaping @Sendable (URLRequest) -> URLRequest?
  ) async throws -> HTTPURLResponse? {
    let delegate = RecordingDelegate()
    delegate.onRedirect = answer
    let session = URLSession(configuration: .loopback)
    defer { session.finishTasksAndInvalidate() }
    let (_, response) =
      if let upload { try await session.upload(for: request, from: upload, delegate: delegate) } else {
        try await session.data(for: request, delegate: delegate)
      }
    #expect(delegate.events.all.contains { $0.hasPrefix("redirect") })
    return response as? HTTPURLResponse
  }

  static let foreign = [
    "file:///etc/passwd", "data:,secret", "myapp://done?code=1", "mailto:a@b.example", "http:///nowhere",
  ]

  @Test(.overHTTP1To3, arguments: foreign) func aForeignTargetIsRefused(_ target: String) async throws {
    try await withServer({ _ in .redirect(to: target) }) { server in
      let error = await #expect(throws: URLError.self) { try await load(URLRequest(url: server.url())) { $0 } }
      #expect(error?.code == .unsupportedURL)
      let session = URLSession(configuration: .loopback)
      let unasked = await #expect(throws: URLError.self) { try await session.data(from: server.url()) }
      #expect(unasked?.code == .unsupportedURL)
      session.finishTasksAndInvalidate()
    }
  }

  /// The sentence says what is wrong with the target.
  @Test(
    arguments: [
      ("http://127.0.0.1:99999/x", "port, 99999,"), ("http:///target", "names no host"),
      ("ftp://h/x", "no http or https"),
    ])
  func theSentenceNamesTheFault(target: String, fault: String) async throws {
    try await withServer({ _ in .redirect(to: target) }) { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) { try await session.data(from: server.url()) }
      #expect(error?.localizedDescription.contains(fault) == true, "\(error?.localizedDescription ?? "")")
      session.finishTasksAndInvalidate()
    }
  }

  /// An app that waits for a redirect to its own scheme sees it coming, and takes the 3xx as the result.
  @Test(.overHTTP1To3, arguments: foreign) func aForeignTargetIsShownToTheDelegate(_ target: String) async throws {
    try await withServer({ $0.target == "/" ? .redirect(to: target) : .ok("") }) { server in
      let proposals = Recorder<URLRequest>()
      var request = URLRequest(url: server.url())
      request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
      let refused = try await load(request) {
        proposals.record($0)
        return nil
      }
      #expect(refused?.statusCode == 302)
      #expect(proposals.all.map(\.url?.absoluteString) == [target])
      #expect(proposals.all.first?.value(forHTTPHeaderField: "Authorization") == nil)
      let other = server.url("/other")
      let followed = try await load(request) { _ in URLRequest(url: other) }
      #expect(followed?.statusCode == 200 && followed?.url == other)
    }
  }

  @Test func noOtherSchemeIsLoadedForADelegateEither() async throws {
    try await withServer({ _ in .redirect(to: "/next") }) { server in
      for text in ["file:///etc/passwd", "data:,text"] {
        let url = try #require(URL(string: text))
        let error = await #expect(throws: URLError.self) {
          try await load(URLRequest(url: server.url())) { _ in URLRequest(url: url) }
        }
        #expect(error?.code == .unsupportedURL)
      }
    }
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var change: @Sendable (inout URLRequest) -> Void
    /// What the second request carries, made of "the task's".
    var body: String
    var method: String
  }

  static let answers = [
    Answer(testDescription: "as proposed", change: { _ in }, body: "the task's", method: "POST"),
    Answer(
      testDescription: "other data", change: { $0.httpBody = Data("other".utf8) }, body: "other", method: "POST"),
    Answer(
      testDescription: "a stream", change: { $0.httpBodyStream = InputStream(data: Data("streamed".utf8)) },
      body: "streamed", method: "POST"),
    Answer(testDescription: "PUT", change: { $0.httpMethod = "PUT" }, body: "the task's", method: "PUT"),
    Answer(testDescription: "GET", change: { $0.httpMethod = "GET" }, body: "", method: "GET"),
    Answer(testDescription: "HEAD", change: { $0.httpMethod = "HEAD" }, body: "", method: "HEAD"),
  ]

  @Test(.overHTTP1To3, arguments: answers) func theAnswersBodyIsSent(_ answer: Answer) async throws {
    try await withServer({ $0.target == "/old" ? .redirect(to: "/new", status: 307) : .ok("") }) { server in
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = "POST"
      let response = try await load(request, upload: Data("the task's".utf8)) { proposal in
        var changed = proposal
        answer.change(&changed)
        return changed
      }
      #expect(response?.statusCode == 200)
      let last = try #require(server.requests.last)
      #expect(last.method == answer.method && last.body.text == answer.body)
      if answer.body.isEmpty { #expect(last.value("Content-Length") == nil) }
    }
  }

  /// Of a data task the delegate sees the body, so that leaving it out means leaving it out.
  @Test(.overHTTP1To3) func aDelegateMayDropTheBody() async throws {
    try await withServer({ $0.target == "/old" ? .redirect(to: "/new", status: 307) : .ok("") }) { server in
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      _ = try await load(request) { proposal in
        #expect(proposal.httpBody == Data("body".utf8))
        var changed = proposal
        changed.httpBody = nil
        return changed
      }
      #expect(server.requests.map(\.body.text) == ["body", ""])
    }
  }
}

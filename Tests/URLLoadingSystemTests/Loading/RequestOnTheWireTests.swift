import Foundation
import HTTPSemantics
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct RequestOnTheWireTests {
  /// Sends one request and returns what the server saw.
  private func sent(
    _ configure: (inout URLRequest) -> Void, configuration: URLSessionConfiguration = .ephemeral,
    target: String = "/path?query=1#fragment"
  ) async throws -> RecordedRequest {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let session = URLSession(configuration: configuration)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)\(target)"))
    var request = URLRequest(url: url)
    configure(&request)
    _ = try await session.data(for: request)
    let seen = try await server.nextRequest()
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
    return seen
  }

  @Test func theTargetHasPathAndQueryButNoFragment() async throws {
    let request = try await sent { _ in }
    #expect(request.target == "/path?query=1")
    #expect(request.method == "GET")
    #expect(request.value("Host")?.hasPrefix("127.0.0.1:") == true)
  }

  @Test(arguments: [("", "/"), ("?q", "/?q"), ("/a%20b", "/a%20b"), ("//x", "//x")])
  func emptyPathsBecomeASlash(_ target: String, _ expected: String) async throws {
    #expect(try await sent({ _ in }, target: target).target == expected)
  }

  @Test func defaultsFillWhatTheAppLeftOut() async throws {
    let request = try await sent { _ in }
    #expect(request.value("Accept") == "*/*")
    #expect(request.value("Accept-Encoding") == "gzip, deflate, br, zstd")
    #expect(request.value("User-Agent")?.isEmpty == false)
    #expect(
      request.value("Accept-Language")
        == AcceptLanguage.value(environment: ProcessInfo.processInfo.environment))
    #expect(request.value("Content-Length") == nil)
  }

  @Test func theAppsFieldsWinOverTheSessionsAndTheDefaults() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["User-Agent": "session", "X-Session": "yes", "Accept": "text/plain"]
    let request = try await sent(
      {
        $0.setValue("app", forHTTPHeaderField: "user-agent")
        $0.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
      }, configuration: configuration)
    #expect(request.value("User-Agent") == "app")
    #expect(request.value("X-Session") == "yes")
    #expect(request.value("Accept") == "text/plain")
    #expect(request.value("Accept-Encoding") == "identity")
  }

  /// What the session adds counts like the request's own, also where the loader looks at it.
  @Test(arguments: [
    (["Accept-Encoding": "br"], "br"), (["Range": "bytes=0-9"], "identity"),
    (["X-Other": "1"], "gzip, deflate, br, zstd"),
  ])
  func theSessionsFieldsDecideOnTheCodings(_ fields: [String: String], _ expected: String) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = fields
    let request = try await sent({ _ in }, configuration: configuration)
    #expect(request.values("Accept-Encoding") == [expected])
  }

  @Test func theSessionCannotSpeakForTheConnectionEither() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = [
      "Host": "elsewhere.example", "Connection": "close, X", "Transfer-Encoding": "chunked", "Content-Length": "9",
      "Upgrade": "h2c", "TE": "gzip", "Keep-Alive": "1",
    ]
    let request = try await sent({ _ in }, configuration: configuration)
    #expect(request.value("Host")?.hasPrefix("127.0.0.1") == true)
    for name in ["Connection", "Transfer-Encoding", "Content-Length", "Upgrade", "TE", "Keep-Alive"] {
      #expect(request.value(name) == nil, "\(name)")
    }
  }

  /// The loader owns Host and the framing: what the app says of them would contradict the wire.
  @Test func fieldsOfTheConnectionAreTheLoaders() async throws {
    let request = try await sent {
      $0.httpMethod = "POST"
      $0.httpBody = Data("four".utf8)
      $0.setValue("999", forHTTPHeaderField: "Content-Length")
      $0.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
      $0.setValue("elsewhere.example", forHTTPHeaderField: "Host")
    }
    #expect(request.value("Content-Length") == "4")
    #expect(request.value("Transfer-Encoding") == nil)
    #expect(request.value("Host")?.hasPrefix("127.0.0.1") == true)
  }

  @Test func whatTheSessionSaysOfTheConnectionIsNotSent() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = [
      "host": "elsewhere.example", "Connection": "x-own", "Keep-Alive": "timeout=9", "TE": "trailers",
      "Upgrade": "x-own", "Transfer-Encoding": "chunked", "Content-Length": "7", "Proxy-Connection": "x-own",
      "X-Session": "yes",
    ]
    let request = try await sent({ _ in }, configuration: configuration)
    #expect(request.value("Host")?.hasPrefix("127.0.0.1") == true)
    #expect(request.value("Connection") != "x-own")
    for name in ["Keep-Alive", "TE", "Upgrade", "Transfer-Encoding", "Content-Length", "Proxy-Connection"] {
      #expect(request.value(name) == nil)
    }
    #expect(request.value("X-Session") == "yes")
  }

  @Test(arguments: ["POST", "PUT", "PATCH"])
  func anEmptyBodyIsSaidToBeEmpty(_ method: String) async throws {
    let request = try await sent { $0.httpMethod = method }
    #expect(request.value("Content-Length") == "0")
  }

  @Test func aGetMayCarryABody() async throws {
    let request = try await sent { $0.httpBody = Data("query".utf8) }
    #expect(request.method == "GET")
    #expect(request.value("Content-Length") == "5")
  }

  /// Neither a field nor a method may smuggle a line of its own. What a request does not take (`setValue`) may still come
  /// from the session.
  @Test(arguments: ["a\r\nEvil: yes", "a\nEvil: yes", "a\u{0}b"])
  func injectedLinesAreRefused(_ value: String) async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Value": value]
    let session = URLSession(configuration: configuration)
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .badURL)
    #expect(error?.localizedDescription.contains("The value of the header field X-Value holds a line end") == true)
    #expect(server.requests.isEmpty)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func foldedValuesAreSentInOneLine() async throws {
    let request = try await sent { $0.setValue("one\r\n\t two\r\n three", forHTTPHeaderField: "X-Value") }
    #expect(request.value("X-Value") == "one two three")
  }

  /// As on Apple's systems, what is posted without a type is taken for a form.
  @Test(
    arguments: [
      ("POST", "a=b", nil, "application/x-www-form-urlencoded"), ("POST", "{}", "application/json", "application/json"),
      ("POST", "", nil, nil), ("PUT", "a=b", nil, nil),
    ] as [(String, String, String?, String?)])
  func postedBodiesHaveAType(_ method: String, _ body: String, _ type: String?, _ expected: String?) async throws {
    let request = try await sent {
      $0.httpMethod = method
      $0.httpBody = Data(body.utf8)
      $0.setValue(type, forHTTPHeaderField: "Content-Type")
    }
    #expect(request.value("Content-Type") == expected)
  }
}

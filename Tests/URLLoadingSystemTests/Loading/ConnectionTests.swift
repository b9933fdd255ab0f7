import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

@Suite struct ConnectionTests {
  @Test(.overHTTP1To3) func oneConnectionServesManyRequests() async throws {
    try await withServer({ .ok($0.target) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for number in 0..<20 {
        let (data, _) = try await session.data(from: server.url("/\(number)"))
        #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
      }
      #expect(server.connectionCount == 1)
    }
  }

  @Test(arguments: [1, 3, 16])
  func noMoreConnectionsThanAllowed(_ limit: Int) async throws {
    // None is answered before as many have come as may come at once.
    let arrived = Recorder<Void>()
    try await withServer({ request in
      arrived.record(())
      _ = try await arrived.first(limit)
      return .ok(request.target).preceded(by: [.delay(.milliseconds(2))])
    }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.httpMaximumConnectionsPerHost = limit
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<60 {
          group.addTask {
            let (data, _) = try await session.data(from: server.url("/\(number)"))
            #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connectionCount == limit)
    }
  }

  /// Requests of different service types do not share a connection; they share the number of connections.
  @Test(.overHTTP1To3) func theLimitIsOneForRequestsOfEveryKind() async throws {
    try await withServer({ .ok($0.target) }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let kinds: [URLRequest.NetworkServiceType] = [.default, .background, .voice]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<18 {
          group.addTask {
            var request = URLRequest(url: server.url("/\(number)"))
            request.networkServiceType = kinds[number % kinds.count]
            let (data, _) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
          }
        }
        try await group.waitForAll()
      }
      try await server.waitForOpenConnections(1)
    }
  }

  /// The server closes after every answer without having said so: the next request must not notice.
  @Test func aConnectionClosedWhileIdleIsReplaced() async throws {
    try await withServer({ .ok($0.target).followed(by: [.closeGracefully]) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for number in 0..<20 {
        let (data, _) = try await session.data(from: server.url("/\(number)"))
        #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
      }
      #expect(server.connectionCount == 20)
    }
  }

  /// The connection dies under the second request, before a byte of answer: a GET is sent again, a POST is not.
  @Test(.overHTTP1To3, arguments: [("GET", true), ("PUT", true), ("POST", false)])
  func aStaleConnectionIsRetriedWhenThatIsSafe(_ method: String, _ isRetried: Bool) async throws {
    try await withServer({ request in
      request.connection == 1 && request.target == "/second" ? Reply([.reset]) : .ok(request.target)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/first"))
      var request = URLRequest(url: server.url("/second"))
      request.httpMethod = method
      request.httpBody = method == "GET" ? nil : Data("body".utf8)
      if isRetried {
        let (data, _) = try await session.data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "/second")
        #expect(server.connectionCount == 2)
      } else {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
        #expect(error?.code == .networkConnectionLost)
      }
    }
  }

  @Test func connectionCloseIsHonoured() async throws {
    try await withServer({ Reply.ok($0.target).closing }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for number in 0..<3 { _ = try await session.data(from: server.url("/\(number)")) }
      #expect(server.connectionCount == 3)
    }
  }

  @Test func http10ClosesUnlessItSaysKeepAlive() async throws {
    try await withServer({ request in
      let keeps = request.target == "/keep" ? "Connection: keep-alive\r\n" : ""
      return .raw(
        "HTTP/1.0 200 OK\r\n\(keeps)Content-Length: 2\r\n\r\nok", ending: keeps.isEmpty ? .closeGracefully : nil)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      for target in ["/keep", "/keep", "/close", "/keep"] { _ = try await session.data(from: server.url(target)) }
      #expect(server.connectionCount == 2)
    }
  }

  @Test func nobodyListening() async throws {
    let server = try await LoopbackServer.start { _ in .ok("") }
    let url = server.url()
    await server.shutdown()
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .cannotConnectToHost)
  }

  @Test func aNameThatDoesNotExist() async throws {
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "http://no-such-host.invalid/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .cannotFindHost)
  }

  @Test(arguments: [nil, "no/scheme"]) func aRequestWithoutAWholeURLIsNotSupported(_ url: String?) async throws {
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: URL(fileURLWithPath: "/"))
    request.url = url.flatMap { URL(string: $0) }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
    #expect(error?.code == .unsupportedURL)
  }

  @Test func theUnsupportedSchemeIsNamed() async throws {
    let session = URLSession(configuration: .loopback)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "gopher://host/"))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .unsupportedURL)
    #expect(error?.localizedDescription.contains("gopher") == true)
  }

  @Test(.overHTTP1To3) func flushMakesLaterRequestsUseNewConnections() async throws {
    try await withServer({ .ok($0.target) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/1"))
      await session.flush()
      try await server.waitForOpenConnections(0)
      _ = try await session.data(from: server.url("/2"))
      #expect(server.connectionCount == 2)
    }
  }
}

import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Which connection a secure WebSocket gets: a stream of HTTP/2 where the server offers that, else one of HTTP/1.1.
@Suite struct WebSocketOverHTTP2Tests {
  /// A server that answers requests with their path, and echoes on WebSockets.
  private func withServer(
    _ protocols: [String], offersSockets: Bool = true, streams: Int = 100,
    reply: @escaping LoopbackServer.Handler = { .ok($0.path) },
    _ body: (LoopbackServer, URLSession) async throws -> Void, configure: (URLSessionConfiguration) -> Void = { _ in }
  ) async throws {
    var tls = try ServerTLS.localhost()
    tls.applicationProtocols = protocols
    var options = LoopbackServer.Options()
    options.http2ConnectProtocol = offersSockets
    options.http2Streams = streams
    options.onHead = { head in
      if head.connectProtocol != nil { return .hand { try await Self.echo(WebSocketPeer($0)) } }
      guard head.value("Upgrade") != nil else { return .readBody }
      return .reply(Reply([.handOver { try await Self.echo(WebSocketPeer(head, $0)) }]))
    }
    let server = try await LoopbackServer.start(tls: tls, options: options, handler: reply)
    try await server.withSession(configure: configure, body)
  }

  @Sendable private static func echo(_ peer: WebSocketPeer) async throws {
    try await peer.open()
    try await peer.echo()
  }

  private func status(_ task: URLSessionTask) -> Int? { (task.response as? HTTPURLResponse)?.statusCode }

  /// Opens a WebSocket, and sees that it works.
  private func open(_ session: URLSession, _ url: URL) async throws -> URLSessionWebSocketTask {
    let task = session.webSocketTask(with: url)
    task.resume()
    try await task.send(.string("hello"))
    #expect(try await task.receive().text == "hello")
    return task
  }

  @Test func itSharesTheConnectionThatIsThere() async throws {
    try await withServer(["h2", "http/1.1"]) { server, session in
      _ = try await session.data(from: server.url("/before"))
      let sockets = [try await open(session, server.socketURL("/1")), try await open(session, server.socketURL("/2"))]
      #expect(sockets.map { status($0) } == [200, 200])
      #expect(try await session.data(from: server.url("/beside")).0 == Data("/beside".utf8))
      for socket in sockets { socket.cancel(with: .normalClosure, reason: nil) }
      #expect(try await session.data(from: server.url("/after")).0 == Data("/after".utf8))
      #expect(server.connectionCount == 1)
    }
  }

  @Test func theFirstOneMakesTheConnection() async throws {
    try await withServer(["h2", "http/1.1"]) { server, session in
      let socket = try await open(session, server.socketURL())
      #expect(try await session.data(from: server.url("/beside")).0 == Data("/beside".utf8))
      #expect(status(socket) == 200)
      #expect(server.connectionCount == 1)
    }
  }

  /// The connection of HTTP/2 stays as it is, with what is under way on it; the answer is remembered.
  @Test func aServerThatDoesNotOfferItGetsHTTP1() async throws {
    let gate = Gate()
    try await withServer(
      ["h2", "http/1.1"], offersSockets: false,
      reply: { request in
        if request.path == "/slow" { try await gate.wait() }
        return .ok(request.path)
      }
    ) { server, session in
      async let slow = session.data(from: server.url("/slow"))
      _ = try await server.nextHead()
      let first = try await open(session, server.socketURL())
      #expect(status(first) == 101)
      #expect(server.connectionCount == 2)
      let second = try await open(session, server.socketURL())
      #expect(status(second) == 101)
      #expect(server.connectionCount == 3)
      gate.open()
      let (data, response) = try await slow
      #expect(data == Data("/slow".utf8))
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      #expect(try await session.data(from: server.url("/after")).0 == Data("/after".utf8))
      #expect(server.connectionCount == 3)
    }
  }

  /// A server of HTTP/1.1 gets one connection for one WebSocket, as ever.
  @Test func aServerThatSpeaksHTTP1Alone() async throws {
    try await withServer(["http/1.1"]) { server, session in
      let socket = try await open(session, server.socketURL())
      #expect(status(socket) == 101)
      #expect(server.connectionCount == 1)
    }
  }

  /// Requests that keep all of a server's connections busy do not keep WebSockets waiting.
  @Test func busyConnectionsDoNotHoldItUp() async throws {
    let gate = Gate()
    try await withServer(
      ["http/1.1"],
      reply: { _ in
        try await gate.wait()
        return .ok("late")
      }
    ) { server, session in
      async let slow = session.data(from: server.url("/slow"))
      _ = try await server.nextHead()
      let sockets = [try await open(session, server.socketURL()), try await open(session, server.socketURL())]
      #expect(sockets.map { status($0) } == [101, 101])
      gate.open()
      let (data, _) = try await slow
      #expect(data == Data("late".utf8))
    } configure: {
      $0.httpMaximumConnectionsPerHost = 1
    }
  }

  /// Each takes one of the server's streams; the next request waits for one.
  @Test func itCountsAsAStream() async throws {
    try await withServer(["h2"], streams: 1) { server, session in
      let socket = try await open(session, server.socketURL())
      async let waiting = session.data(from: server.url("/next"))
      try await socket.send(.string("still"))
      #expect(try await socket.receive().text == "still")
      #expect(server.heads.count == 1)
      socket.cancel(with: .normalClosure, reason: nil)
      let (data, _) = try await waiting
      #expect(data == Data("/next".utf8))
      #expect(server.connectionCount == 1)
    } configure: {
      $0.httpMaximumConnectionsPerHost = 1
    }
  }

  @Test func plainSocketsAreNotAskedFor() async throws {
    let seen = Recorder<WebSocketPeer>()
    try await withPeer({ peer in
      seen.record(peer)
      try await Self.echo(peer)
    }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let socket = try await open(session, server.socketURL())
      #expect(status(socket) == 101)
      #expect(seen.all.first?.request.hasPrefix("GET / HTTP/1.1\r\n") == true)
    }
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// The handshake is a load like any other.
@Suite(.overEveryVersion) struct WebSocketHandshakeLoadTests {
  @Test(arguments: ["/real", "ws", "http"]) func redirectsAreFollowed(_ kind: String) async throws {
    try await withPeer({ peer in
      guard peer.path == "/old" else {
        try await peer.open()
        return try await peer.echo()
      }
      let host = peer.value("Host") ?? ""
      let secure = peer.version == .http2 ? "s" : ""
      let target = kind.hasPrefix("/") ? kind : "\(kind)\(secure)://\(host)/real"
      try await peer.answer("302 Found", ["Location: \(target)", "Content-Length: 0"])
      // The same connection takes the second handshake.
      guard let again = try await peer.next() else { return }
      try await again.open()
      try await again.echo()
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL("/old"))
      defer { session.invalidateAndCancel() }
      try await task.send(.string("hi"))
      #expect(try await task.receive().text == "hi")
      #expect(task.currentRequest?.url == server.socketURL("/real"))
      #expect(task.originalRequest?.url == server.socketURL("/old"))
      let events = try await delegate.events.first(2)
      #expect(events == ["redirect to \(server.socketURL().scheme ?? "")", "open -"])
      #expect(server.connectionCount == 1)
    }
  }

  @Test func aRefusedRedirectIsNoSocket() async throws {
    try await withPeer({ peer in
      try await peer.answer("302 Found", ["Location: /x", "Content-Length: 0"])
    }) { server in
      let delegate = WebSocketDelegate()
      delegate.onRedirect = { _ in nil }
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
      defer { session.invalidateAndCancel() }
      let task = session.webSocketTask(with: server.socketURL())
      task.resume()
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .badServerResponse)
      #expect((task.response as? HTTPURLResponse)?.statusCode == 302)
    }
  }

  /// A redirect to a host of another event loop, as often as not.
  @Test func redirectsAcrossHosts() async throws {
    let other = try await startPeer { peer in
      try await peer.open(then: WebSocketPeer.text("welcome"))
      try await peer.echo()
    }
    let target = other.url("/there", host: "localhost").absoluteString
    try await withPeer({ peer in
      try await peer.answer("307 Temporary", ["Location: \(target)", "Content-Length: 0"])
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      #expect(try await task.receive().text == "welcome")
      try await task.send(.string("hi"))
      #expect(try await task.receive().text == "hi")
      #expect(task.currentRequest?.url?.absoluteString == "ws" + target.dropFirst(4))
      task.cancel(with: .normalClosure, reason: nil)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.suffix(2) == ["close 1000 -", "completed"])
      session.invalidateAndCancel()
    }
    try await other.expectNoOpenConnections()
    await other.shutdown()
  }

  /// An open WebSocket is no HTTP connection any more: it takes no place from others.
  @Test func openSocketsDoNotCountAgainstTheLimit() async throws {
    try await withPeer({ peer in
      if peer.path == "/plain" {
        try await peer.answer("200 OK", ["Content-Length: 2"])
        return try await peer.send(Array("ok".utf8))
      }
      try await peer.open()
      try await peer.echo()
    }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let sockets = (0..<4).map { _ in session.webSocketTask(with: server.socketURL()) }
      for socket in sockets { socket.resume() }
      for (index, socket) in sockets.enumerated() {
        try await socket.send(.string("\(index)"))
        #expect(try await socket.receive().text == "\(index)")
      }
      let (data, _) = try await session.data(from: server.url("/plain"))
      #expect(String(decoding: data, as: UTF8.self) == "ok")
      for socket in sockets { socket.cancel() }
    }
  }

  /// A session that is invalidated closes its sockets; one that only finishes lets them live.
  @Test func sessionsEndTheirSockets() async throws {
    try await withPeer({ peer in
      try await peer.open()
      try await peer.echo()
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      try await task.send(.string("a"))
      session.finishTasksAndInvalidate()
      try await task.send(.string("b"))
      #expect(try await task.receive().text == "a")
      #expect(try await task.receive().text == "b")
      session.invalidateAndCancel()
      task.cancel()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "failed -999")
    }
  }
}

/// WebSockets over TLS.
@Suite struct SecureWebSocketTests {
  @Test func messagesOverTLS() async throws {
    let certificates = try TestCertificates.shared()
    try await withPeer(
      tls: .localhost(),
      { peer in
        try await peer.open()
        try await peer.echo()
      }
    ) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.trustRoots = .file(certificates.authorityFile)
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let text = server.url("/", host: "localhost").absoluteString
      let task = session.webSocketTask(with: try #require(URL(string: "wss" + text.dropFirst(5))))
      task.resume()
      let long = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
      try await task.send(.data(long))
      #expect(try await task.receive().bytes == long)
      task.cancel(with: .normalClosure, reason: nil)
    }
  }

  @Test func anUntrustedServer() async throws {
    try await withPeer(tls: .localhost(), { try await $0.open() }) { server in
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let url = try #require(URL(string: "wss://localhost:\(server.port)/"))
      let task = session.webSocketTask(with: url)
      task.resume()
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .serverCertificateHasUnknownRoot)
      #expect(error?.failingURL == url)
    }
  }
}

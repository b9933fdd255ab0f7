import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// WebSockets through a scripted proxy that is also the server behind itself. An HTTP proxy can only pass them on.
@Suite struct WebSocketProxyTests {
  static let settings: [@Sendable (URLSessionConfiguration, Int, Int) -> Void] = [
    { configuration, port, _ in configuration.connectionProxyDictionary = proxyDictionary(http: port) },
    { configuration, port, _ in configuration.proxyEnvironment = ["http_proxy": "http://127.0.0.1:\(port)"] },
    // RFC 6455 §4.1: the proxy for https is the better one.
    { configuration, port, dead in
      configuration.connectionProxyDictionary = proxyDictionary(http: dead, https: port)
    },
  ]

  @Test(arguments: settings.indices) func anHTTPProxyIsAskedForATunnel(setting: Int) async throws {
    let dead = try await closedPort()
    let seen = Recorder<String>()
    try await withScriptedProxy(
      { connection in
        seen.record(try await connection.readHead())
        try await connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
        guard let peer = try await WebSocketPeer(connection) else { return }
        seen.record(peer.request)
        try await peer.open()
        try await peer.echo()
      },
      {
        $0.httpAdditionalHeaders = ["Proxy-Authorization": "Basic own"]
        Self.settings[setting]($0, $1, dead)
      }
    ) { session, _ in
      let task = session.webSocketTask(with: try url("ws://chat.example/room?1"))
      task.resume()
      try await task.send(.string("hello"))
      #expect(try await task.receive().text == "hello")
      task.cancel(with: .normalClosure, reason: nil)
      try await eventually("the end") { task.state == .completed }
    }
    let heads = seen.all
    #expect(heads.count == 2)
    #expect(heads.first?.hasPrefix("CONNECT chat.example:80 HTTP/1.1\r\n") == true)
    #expect(heads.first?.contains("Proxy-Authorization: Basic own\r\n") == true)
    #expect(heads.last?.hasPrefix("GET /room?1 HTTP/1.1\r\nHost: chat.example\r\n") == true)
    #expect(heads.last?.contains("Proxy-Authorization") == false)
  }

  @Test func socksComesBeforeHTTP() async throws {
    let dead = try await closedPort()
    try await withScriptedProxy(
      { connection in
        _ = try await connection.read(exactly: 3)
        try await connection.write([5, 0])
        _ = try await connection.read(exactly: 4 + 1 + 12 + 2)
        try await connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        guard let peer = try await WebSocketPeer(connection) else { return }
        try await peer.open()
        try await peer.echo()
      }, { $0.connectionProxyDictionary = proxyDictionary(http: dead, https: dead, socks: $1) }
    ) { session, _ in
      let task = session.webSocketTask(with: try url("ws://chat.example/"))
      task.resume()
      try await task.send(.string("hello"))
      #expect(try await task.receive().text == "hello")
      task.cancel(with: .normalClosure, reason: nil)
      try await eventually("the end") { task.state == .completed }
    }
  }
}

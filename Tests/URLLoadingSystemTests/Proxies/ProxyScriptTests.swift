import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

private let runsHere =
  FileManager.default.isExecutableFile(atPath: "/usr/bin/pactester")
  || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty

@Suite(.enabled(if: runsHere, "pactester is missing: apt-get install libpacparser1"))
struct ProxyScriptTests {
  private func function(_ body: String) -> String { "function FindProxyForURL(url, host) { \(body) }" }

  private func automatic(_ key: String, _ value: String) -> [AnyHashable: Any] {
    [kCFNetworkProxiesProxyAutoConfigEnable: 1, key: value]
  }

  @Test func aScriptDecidesAndItsListIsTriedInOrder() async throws {
    let dead = try await closedPort()
    try await withServer({ .ok($0.target) }) { proxy in
      let script = function(
        """
        if (dnsDomainIs(host, ".example")) return "PROXY 127.0.0.1:\(dead); PROXY 127.0.0.1:\(proxy.port)";
        if (shExpMatch(url, "*/by-path*")) return "PROXY 127.0.0.1:\(proxy.port)";
        return "DIRECT";
        """)
      try await withProxies({
        $0.connectionProxyDictionary = automatic(kCFNetworkProxiesProxyAutoConfigJavaScript, script)
      }) { session, delegate in
        for _ in 0..<2 {
          let (data, _) = try await session.data(from: url("http://one.example/x"))
          #expect(String(decoding: data, as: UTF8.self) == "http://one.example/x")
          // What did not get past the dead proxy is no transaction.
          let value1 = try await delegate.metrics.next().transactionMetrics.count
          #expect(value1 == 1)
        }
        let value2 = try await session.data(from: proxy.url("/direct")).0
        #expect(value2 == Data("/direct".utf8))
        let (byPath, _) = try await session.data(from: proxy.url("/by-path?q"))
        #expect(String(decoding: byPath, as: UTF8.self) == proxy.url("/by-path?q").absoluteString)
      }
    }
  }

  /// RFC 6455 §4.1: of a WebSocket a script is told a WebSocket's URL.
  @Test func aScriptIsToldOfWebSockets() async throws {
    try await withScriptedProxy(
      { connection in
        #expect(try await connection.readHead().hasPrefix("CONNECT chat.example:80 "))
        try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
        guard let peer = try await WebSocketPeer(connection) else { return }
        try await peer.open()
        try await peer.echo()
      },
      {
        let script = function(#"return url == "ws://chat.example/room" ? "PROXY 127.0.0.1:\#($1)" : "DIRECT";"#)
        $0.connectionProxyDictionary = automatic(kCFNetworkProxiesProxyAutoConfigJavaScript, script)
      }
    ) { session, _ in
      let task = session.webSocketTask(with: try url("ws://chat.example/room"))
      task.resume()
      try await task.send(.string("hello"))
      #expect(try await task.receive().text == "hello")
      task.cancel(with: .normalClosure, reason: nil)
      try await eventually("the end") { task.state == .completed }
    }
  }

  @Test func whatIsMeantForProxiesDoesNotGoDirectly() async throws {
    try await withServer({ .ok($0.value("Proxy-Authorization") ?? "none") }) { server in
      try await withProxies({
        $0.connectionProxyDictionary = automatic(
          kCFNetworkProxiesProxyAutoConfigJavaScript, function("return \"DIRECT\";"))
        $0.httpAdditionalHeaders = ["Proxy-Authorization": "Basic own"]
      }) { session, _ in
        let (data, _) = try await session.data(from: server.url())
        #expect(data == Data("none".utf8))
      }
    }
  }

  @Test func aScriptIsFetchedOnce() async throws {
    try await withServer({ request in
      request.path == "/proxy.pac"
        ? .ok(
          "function FindProxyForURL(u, h) { return h == 'pac.example' ? 'PROXY ' + '127.0.0.1:\(request.value("Host")?.split(separator: ":").last ?? "")' : 'DIRECT' }",
          type: "application/x-ns-proxy-autoconfig")
        : .ok(request.target)
    }) { server in
      try await withProxies({
        $0.connectionProxyDictionary = automatic(
          kCFNetworkProxiesProxyAutoConfigURLString, server.url("/proxy.pac").absoluteString)
      }) { session, _ in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<5 {
            group.addTask {
              let (data, _) = try await session.data(from: url("http://pac.example/\(number)"))
              #expect(String(decoding: data, as: UTF8.self) == "http://pac.example/\(number)")
            }
          }
          try await group.waitForAll()
        }
        #expect(server.requests.filter { $0.path == "/proxy.pac" }.count == 1)
      }
    }
  }

  /// As on Apple's systems, a script that is not there or does not work leaves the choice to the rest of the settings.
  @Test(arguments: ["throw 'x'", "syntax error(", "404"])
  func withoutAnAnswerTheRestDecides(body: String) async throws {
    try await withServer({ $0.path == "/proxy.pac" ? .status(404) : .ok($0.target) }) { server in
      var dictionary =
        body == "404"
        ? automatic(kCFNetworkProxiesProxyAutoConfigURLString, server.url("/proxy.pac").absoluteString)
        : automatic(kCFNetworkProxiesProxyAutoConfigJavaScript, function(body))
      for settings in [dictionary, dictionary.merging(proxyDictionary(http: server.port)) { $1 }] {
        dictionary = settings
        try await withProxies({ $0.connectionProxyDictionary = settings }) { session, _ in
          let (data, _) = try await session.data(from: server.url("/x"))
          let isProxied = settings[kCFNetworkProxiesHTTPProxy] != nil
          #expect(String(decoding: data, as: UTF8.self) == (isProxied ? server.url("/x").absoluteString : "/x"))
        }
      }
    }
  }

  @Test func anAddressThatIsNoURLLeavesTheChoiceToTheRest() async throws {
    try await withServer({ .ok($0.target) }) { server in
      try await withProxies({
        $0.connectionProxyDictionary = automatic(kCFNetworkProxiesProxyAutoConfigURLString, "http://h:port")
      }) { session, _ in
        let (data, _) = try await session.data(from: server.url("/x"))
        #expect(data == Data("/x".utf8))
      }
    }
  }

  /// It is killed; the load does not wait longer than its own patience.
  @Test func aScriptThatNeverEnds() async throws {
    try await withProxies({
      $0.connectionProxyDictionary = automatic(
        kCFNetworkProxiesProxyAutoConfigJavaScript, function("while (true) {}"))
      $0.timeoutIntervalForRequest = 0.4
    }) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://a.example/")) }
      #expect(error?.code == .timedOut)
    }
  }
}

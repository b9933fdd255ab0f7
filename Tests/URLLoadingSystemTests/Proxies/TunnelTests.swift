import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Tunnels, with a scripted proxy that is also the server behind itself: what it says after the handshake is what a
/// server would say. TLS inside tunnels is tested with real proxies.
@Suite struct TunnelTests {
  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test func proxyConfigurationsTunnelPlainHTTP() async throws {
    let seen = Recorder<String>()
    try await withScriptedProxy(
      { connection in
        seen.record(try await connection.readHead())
        guard seen.all.count > 1 else {
          return try await connection.write("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n")
        }
        try await connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
        for _ in 0..<2 {
          seen.record(try await connection.readHead())
          try await connection.write(Self.answer)
        }
      }, { $0.proxyConfigurations = [tunnelling($1, name: "me")] }
    ) { session, delegate in
      for _ in 0..<2 { _ = try await session.data(from: url("http://one.example/x")) }
      let transaction = try #require(try await delegate.metrics.next().transactionMetrics.last)
      #expect(transaction.isProxyConnection && transaction.networkProtocolName == "http/1.1")
    }
    try #require(seen.all.count == 4)
    #expect(seen.all[0].hasPrefix("CONNECT one.example:80 HTTP/1.1\r\nHost: one.example:80\r\n"))
    // The password of the settings is not shown before it is asked for.
    #expect(!seen.all[0].contains("Proxy-Authorization"))
    #expect(seen.all[1].contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"))
    #expect(seen.all[2].hasPrefix("GET /x HTTP/1.1\r\nHost: one.example\r\n"))
    #expect(!seen.all[2].contains("Proxy-Authorization"))
  }

  @Test(arguments: [
    ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", URLError.Code.cannotConnectToHost, "403"),
    ("HTTP/1.1 502 Bad Gateway\r\n\r\nsorry", .cannotConnectToHost, "502"),
    ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n", .userAuthenticationRequired, "user name"),
    ("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nsmuggled", .cannotParseResponse, "silent"),
    ("220 ftp.example ready\r\n\r\n", .cannotParseResponse, "not HTTP"), ("", .networkConnectionLost, "closed"),
  ])
  func refusalsOfTunnels(answer: String, code: URLError.Code, word: String) async throws {
    try await withScriptedProxy(
      { connection in
        _ = try await connection.readHead()
        if !answer.isEmpty { try await connection.write(answer) }
      }, { $0.connectionProxyDictionary = proxyDictionary(https: $1) }
    ) { session, delegate in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("https://one.example/")) }
      #expect(error?.code == code, "\(error as Any)")
      #expect(error?.localizedDescription.contains(word) == true, "\(error?.localizedDescription ?? "")")
      let value1 = try await delegate.metrics.next().transactionMetrics.first?.isProxyConnection
      #expect(value1 == true)
    }
  }

  @Test func theDelegateIsAskedForATunnel() async throws {
    let proxy = try await LoopbackServer.startRaw { connection in
      let head = try await connection.readHead()
      guard head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") else {
        return try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"Office\"\r\nContent-Length: 0\r\n\r\n")
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      _ = try await connection.readHead()
      try await connection.write(Self.answer)
    }
    let asker = PasswordDelegate(user: "me", passwords: ["secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.proxyConfigurations = [tunnelling(proxy.port)]
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    let (data, _) = try await session.data(from: url("http://one.example/"))
    #expect(String(decoding: data, as: UTF8.self) == "ok")
    #expect(asker.challenges.all.map(\.protectionSpace.realm) == ["Office"])
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test(arguments: [nil, "me"])
  func socks5(name: String?) async throws {
    let seen = Recorder<[UInt8]>()
    try await withScriptedProxy(
      { connection in
        seen.record(try await connection.read(exactly: name == nil ? 3 : 4) ?? [])
        try await connection.write([5, name == nil ? 0 : 2])
        if name != nil {
          seen.record(try await connection.read(exactly: 11) ?? [])
          try await connection.write([1, 0])
        }
        seen.record(try await connection.read(exactly: 18) ?? [])
        try await connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        _ = try await connection.readHead()
        try await connection.write(Self.answer)
      },
      {
        let port = NWEndpoint.Port(rawValue: UInt16($1)) ?? .any
        var proxy = ProxyConfiguration(socksv5Proxy: .hostPort(host: "127.0.0.1", port: port))
        if let name { proxy.applyCredential(username: name, password: "secret") }
        $0.proxyConfigurations = [proxy]
      }
    ) { session, delegate in
      let (data, _) = try await session.data(from: url("http://one.example:81/"))
      #expect(String(decoding: data, as: UTF8.self) == "ok")
      let isProxied = try await delegate.metrics.next().transactionMetrics[0].isProxyConnection
      #expect(isProxied)
    }
    // The name goes to the proxy as a name.
    #expect(seen.all.last == [5, 1, 0, 3, 11] + Array("one.example".utf8) + [0, 81])
  }

  @Test(
    arguments: [
      ("socks4a://me@P", [4, 1, 0, 80, 0, 0, 0, 1, 109, 101, 0] + Array("one.example".utf8) + [0], "one.example"),
      ("socks4://P", [4, 1, 0, 80, 192, 0, 2, 1, 0], "192.0.2.1"),
    ] as [(String, [UInt8], String)])
  func socks4(proxy: String, request: [UInt8], host: String) async throws {
    let seen = Recorder<[UInt8]>()
    try await withScriptedProxy(
      { connection in
        seen.record(try await connection.read(exactly: request.count) ?? [])
        try await connection.write([0, 90, 0, 0, 0, 0, 0, 0])
        _ = try await connection.readHead()
        try await connection.write(Self.answer)
      }, { $0.proxyEnvironment = ["all_proxy": proxy.replacing("P", with: "127.0.0.1:\($1)")] }
    ) { session, _ in
      let (data, _) = try await session.data(from: url("http://\(host)/"))
      #expect(String(decoding: data, as: UTF8.self) == "ok")
    }
    #expect(seen.all == [request])
  }

  @Test(
    arguments: [
      ([5, 0xff], URLError.Code.userAuthenticationRequired), ([5, 0, 5, 5], .cannotConnectToHost),
      ([5, 0, 5, 2], .cannotConnectToHost), ([72, 84], .cannotParseResponse),
    ] as [([UInt8], URLError.Code)])
  func refusalsOfSOCKS(answer: [UInt8], code: URLError.Code) async throws {
    try await withScriptedProxy(
      { connection in
        _ = try await connection.read(exactly: 3)
        try await connection.write(Array(answer.prefix(2)))
        guard answer.count > 2 else { return }
        _ = try await connection.read()
        try await connection.write(Array(answer.dropFirst(2)))
      }, { $0.connectionProxyDictionary = proxyDictionary(socks: $1) }
    ) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
      #expect(error?.code == code, "\(error as Any)")
    }
  }

  /// A proxy that never answers ends with the load's own time-out, and leaves nothing behind.
  @Test func aSilentProxy() async throws {
    try await withScriptedProxy(
      { connection in
        while try await connection.read() != nil {}
      },
      {
        $0.connectionProxyDictionary = proxyDictionary(https: $1)
        $0.timeoutIntervalForRequest = 0.3
      }
    ) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("https://one.example/")) }
      #expect(error?.code == .timedOut)
    }
  }

  /// Connections of a host live on one event loop. Of many names some live on another one than the load that a redirect
  /// brings there.
  @Test func redirectsCrossEventLoops() async throws {
    try await withScriptedProxy(
      { connection in
        _ = try await connection.readHead()
        try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
        let hop = Int(try await connection.readHead().split(separator: " ")[1].dropFirst()) ?? 0
        let head = "HTTP/1.1 302 Found\r\nLocation: http://host\(hop).example/\(hop - 1)\r\nContent-Length: 0\r\n\r\n"
        try await connection.write(hop == 0 ? Self.answer : head)
        _ = try await connection.read()
      }, { $0.proxyConfigurations = [tunnelling($1)] }
    ) { session, _ in
      let (data, _) = try await session.data(from: url("http://host.example/12"))
      #expect(String(decoding: data, as: UTF8.self) == "ok")
    }
  }

  // MARK: Which of several

  @Test func matchAndExcludedDomainsAndFailover() async throws {
    let dead = try await closedPort()
    try await withServer({ .ok("direct \($0.target)") }) { server in
      var first = tunnelling(dead)
      first.allowFailover = true
      var others = tunnelling(dead)
      others.matchDomains = ["example"]
      try await withProxies({ $0.proxyConfigurations = [first, others] }) { session, _ in
        for _ in 0..<2 {
          let (data, _) = try await session.data(from: server.url("/1"))
          #expect(data == Data("direct /1".utf8))
        }
        // The second proxy is for this name, and does not let another way be tried.
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://a.example/")) }
        #expect(error?.code == .cannotConnectToHost)
      }
      var excluding = tunnelling(dead)
      excluding.excludedDomains = ["localhost"]
      try await withProxies({ $0.proxyConfigurations = [excluding] }) { session, _ in
        let value2 = try await session.data(from: server.url("/2", host: "localhost")).0
        #expect(value2 == Data("direct /2".utf8))
        await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/3")) }
      }
    }
  }

  @Test func relaysAreRefusedWithASentence() async throws {
    try await withProxies({
      let hop = ProxyConfiguration.RelayHop(http2RelayEndpoint: .hostPort(host: "127.0.0.1", port: 443))
      $0.proxyConfigurations = [ProxyConfiguration(relayHops: [hop])]
    }) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://a.example/")) }
      #expect(error?.code == .cannotConnectToHost && error?.localizedDescription.contains("MASQUE") == true)
    }
  }
}

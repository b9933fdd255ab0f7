import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Stream tasks through a scripted proxy that is also the server behind itself.
@Suite struct StreamProxyTests {
  /// The server speaks first, and its words come with the proxy's own.
  @Test(arguments: [false, true]) func theServersFirstWordsAreNotLost(throughSOCKS: Bool) async throws {
    let asked = Recorder<String>()
    try await withScriptedProxy(
      { connection in
        if throughSOCKS {
          _ = try await connection.read(exactly: 3)
          try await connection.write([5, 0])
          let request = try await connection.read(exactly: 4 + 1 + 12 + 2) ?? []
          asked.record(String(decoding: request.dropFirst(5).dropLast(2), as: UTF8.self))
          try await connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Array("220 ready\n".utf8))
        } else {
          asked.record(try await connection.readHead())
          try await connection.write("HTTP/1.1 200 OK\r\n\r\n220 ready\n")
        }
        while let line = try await connection.readLine() { try await connection.write("\(line)!\n") }
      },
      {
        $0.connectionProxyDictionary = throughSOCKS ? proxyDictionary(socks: $1) : proxyDictionary(https: $1)
      }
    ) { session, _ in
      let task = session.streamTask(withHostName: "mail.example", port: 25)
      task.resume()
      #expect(try await task.readLine() == "220 ready")
      try await task.write(Data("EHLO me\n".utf8), timeout: 30)
      #expect(try await task.readLine() == "EHLO me!")
      task.cancel()
    }
    let first = try #require(asked.all.first)
    #expect(throughSOCKS ? first == "mail.example" : first.hasPrefix("CONNECT mail.example:25 HTTP/1.1\r\n"))
  }

  /// A name goes to a proxy in ASCII, and TLS begins behind the proxy.
  @Test func tlsInATunnel() async throws {
    let names = Recorder<String>()
    try await withScriptedProxy(
      { connection in
        names.record(try await connection.readHead())
        try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
        guard try await connection.readLine() == "STARTTLS" else { return }
        try await connection.startTLS(.localhost(), announcing: "220 go\n")
        while let line = try await connection.readLine() { try await connection.write("\(line) over TLS\n") }
      },
      {
        $0.connectionProxyDictionary = proxyDictionary(https: $1)
        $0.trustRoots = URLSessionConfiguration.loopback.trustRoots
      }
    ) { session, _ in
      for host in ["localhost", "bücher.example"] {
        let task = session.streamTask(withHostName: host, port: 143)
        task.resume()
        guard host == "localhost" else {
          try await task.write(Data("QUIT\n".utf8), timeout: 30)
          continue
        }
        try await task.write(Data("STARTTLS\n".utf8), timeout: 30)
        #expect(try await task.readLine() == "220 go")
        task.startSecureConnection()
        try await task.write(Data("hello\n".utf8), timeout: 30)
        #expect(try await task.readLine() == "hello over TLS")
        task.cancel()
      }
    }
    #expect(
      names.all.map { String($0.prefix { $0 != "\r\n" }) } == [
        "CONNECT localhost:143 HTTP/1.1", "CONNECT xn--bcher-kva.example:143 HTTP/1.1",
      ])
  }

  @Test func theDelegateIsAskedForTheProxysPassword() async throws {
    let proxy = try await LoopbackServer.startRaw { connection in
      let head = try await connection.readHead()
      guard head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") else {
        return try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"Office\"\r\nContent-Length: 0\r\n\r\n")
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\nhello\n")
      _ = try await connection.readToEnd()
    }
    let asker = PasswordDelegate(user: "me", passwords: ["wrong", "secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.proxyConfigurations = [tunnelling(proxy.port)]
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    let task = session.streamTask(withHostName: "mail.example", port: 25)
    task.resume()
    #expect(try await task.readLine() == "hello")
    #expect(asker.challenges.all.map(\.protectionSpace.realm) == ["Office", "Office"])
    #expect(asker.challenges.all.first?.protectionSpace.proxyType == NSURLProtectionSpaceHTTPSProxy)
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test func aRefusedTunnelFailsTheTask() async throws {
    try await withScriptedProxy(
      { connection in
        _ = try await connection.readHead()
        try await connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
      }, { $0.connectionProxyDictionary = proxyDictionary(https: $1) }
    ) { session, _ in
      let task = session.streamTask(withHostName: "mail.example", port: 25)
      task.resume()
      let error = await #expect(throws: URLError.self) { try await task.write(Data([1]), timeout: 0) }
      #expect(error?.code == .cannotConnectToHost)
      #expect(error?.localizedDescription.contains("403") == true)
    }
  }

  /// Past a proxy that does not work, past one for plain HTTP alone, and where the host is an exception.
  @Test func theOtherWays() async throws {
    let dead = try await closedPort()
    var failing = tunnelling(dead)
    failing.allowFailover = true
    var excepting = proxyDictionary(https: dead, socks: dead)
    excepting[kCFNetworkProxiesExceptionsList] = ["127.0.0.1"]
    let (failover, exceptions) = (failing, excepting)
    let ways: [(URLSessionConfiguration) -> Void] = [
      { $0.proxyConfigurations = [failover] }, { $0.connectionProxyDictionary = exceptions },
      { $0.connectionProxyDictionary = proxyDictionary(http: dead) },
    ]
    try await withRawServer({ connection in
      try await connection.write("direct\n")
      _ = try await connection.readToEnd()
    }) { server in
      for way in ways {
        try await withProxies(way) { session, _ in
          let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
          task.resume()
          let line = try await task.readLine()
          #expect(line == "direct")
          task.cancel()
        }
      }
    }
  }

  @Test(arguments: ["a:b", "a/b", "a b", "[::1]x", "a\r\nb", "user@host"])
  func namesThatAreNone(host: String) async throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let task = session.streamTask(withHostName: host, port: 25)
    task.resume()
    let error = await #expect(throws: URLError.self) { try await task.write(Data([1]), timeout: 0) }
    #expect(error?.code == .badURL)
  }
}

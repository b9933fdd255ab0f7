import Foundation
import LoopbackServer
import NIOCore
import Testing
import URLLoadingSystem

/// A proxy for ftp is asked in HTTP, for the whole URL. The names exist nowhere: whoever is asked is the proxy.
@Suite struct FTPProxyTests {
  private func dictionary(_ port: Int) -> [AnyHashable: Any] {
    [kCFNetworkProxiesFTPEnable: 1, kCFNetworkProxiesFTPProxy: "127.0.0.1", kCFNetworkProxiesFTPPort: port]
  }

  @Test func theProxyIsToldTheWholeURL() async throws {
    try await withServer({ .ok("\($0.target) \($0.value("Host") ?? "") \($0.value("Authorization") ?? "")") }) {
      proxy in
      try await withProxies({ $0.connectionProxyDictionary = dictionary(proxy.port) }) { session, delegate in
        for (text, seen) in [
          ("ftp://one.example/a%20b;type=i#c", "ftp://one.example/a%20b;type=i one.example "),
          ("ftp://me:p%40ss@two.example:2121/", "ftp://two.example:2121/ two.example:2121 Basic bWU6cEBzcw=="),
          ("ftp://three.example", "ftp://three.example/ three.example "),
        ] {
          let (data, response) = try await session.data(from: url(text))
          #expect(String(decoding: data, as: UTF8.self) == seen)
          #expect((response as? HTTPURLResponse)?.statusCode == 200 && response.url?.absoluteString == text)
          let transaction = try await delegate.metrics.next().transactionMetrics[0]
          #expect(transaction.isProxyConnection && transaction.remotePort == proxy.port)
          #expect(transaction.networkProtocolName == "http/1.1")
        }
        #expect(proxy.connectionCount == 1)
      }
    }
  }

  /// Without its Enable key, for an exception, and for another scheme the proxy is not used.
  @Test func keysThatDoNotLeadToIt() async throws {
    try await withFTP(.file()) { ftp, _, _ in
      try await withServer({ _ in .ok("proxy") }) { proxy in
        let enabled = dictionary(proxy.port)
        var disabled = enabled
        disabled[kCFNetworkProxiesFTPEnable] = 0
        var excepted = enabled
        excepted[kCFNetworkProxiesExceptionsList] = ["127.0.0.1"]
        for keys in [disabled, excepted] {
          try await withProxies({ $0.connectionProxyDictionary = keys }) { session, _ in
            let data = try await session.data(from: ftp.url("/a.txt")).0
            #expect(data == Data("hello\n".utf8))
          }
        }
        try await withProxies({ $0.connectionProxyDictionary = enabled }) { session, _ in
          let direct = try await session.data(from: proxy.url("/x")).0
          #expect(direct == Data("proxy".utf8) && proxy.requests.map(\.head.target) == ["/x"])
          let proxied = try await session.data(from: ftp.url("/a.txt")).0
          #expect(proxied == Data("proxy".utf8))
        }
      }
    }
  }

  @Test func theEnvironmentAndAResolvedProxy() async throws {
    try await withServer({ .ok($0.target) }) { proxy in
      let settings: [(URLSessionConfiguration) -> Void] = [
        { $0.proxyEnvironment = ["ftp_proxy": "http://127.0.0.1:\(proxy.port)"] },
        { $0.proxyEnvironment = ["all_proxy": "127.0.0.1:\(proxy.port)"] },
        {
          $0.connectionProxyDictionary = [
            kCFProxyTypeKey: kCFProxyTypeFTP, kCFProxyHostNameKey: "127.0.0.1", kCFProxyPortNumberKey: proxy.port,
          ]
        },
      ]
      for set in settings {
        try await withProxies(set) { session, _ in
          let data = try await session.data(from: url("ftp://one.example/x")).0
          #expect(data == Data("ftp://one.example/x".utf8))
        }
      }
    }
  }

  @Test func theDelegateIsAskedForACredential() async throws {
    let proxy = try await LoopbackServer.start { request in
      request.value("Proxy-Authorization") == "Basic bWU6c2VjcmV0"
        ? .ok(request.target) : .status(407, fields: [("Proxy-Authenticate", "Basic realm=\"Office\"")], body: "who?")
    }
    let asker = PasswordDelegate(user: "me", passwords: ["secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = dictionary(proxy.port)
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    let data = try await session.data(from: url("ftp://one.example/x")).0
    #expect(data == Data("ftp://one.example/x".utf8))
    #expect(asker.challenges.all.map(\.protectionSpace.proxyType) == [NSURLProtectionSpaceFTPProxy])
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// The proxy could not log in at the server: the question is the server's. Later loads need none.
  @Test func theDelegateIsAskedForTheLoginOfTheServer() async throws {
    let proxy = try await LoopbackServer.start { request in
      request.value("Authorization") == basic("me", "secret")
        ? .ok(request.target) : .unauthorized("Basic realm=\"FTP me\"")
    }
    let asker = PasswordDelegate(user: "me", passwords: ["wrong", "secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = dictionary(proxy.port)
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    for name in ["x", "y"] {
      let data = try await session.data(from: url("ftp://one.example:2121/\(name)")).0
      #expect(data == Data("ftp://one.example:2121/\(name)".utf8))
    }
    #expect(asker.challenges.all.map(\.previousFailureCount) == [0, 1])
    let challenge = try #require(asker.challenges.all.first)
    let space = challenge.protectionSpace
    #expect(space.protocol == NSURLProtectionSpaceFTP && space.host == "one.example" && space.port == 2121)
    #expect(!space.isProxy() && space.authenticationMethod == NSURLAuthenticationMethodDefault)
    #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
    let stored = session.configuration.urlCredentialStorage?.defaultCredential(for: space)
    #expect(stored?.user == "me")
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// Without an answer, or a challenge that Basic answers, the 401 is the response.
  @Test(arguments: ["Basic realm=\"x\"", "Negotiate"]) func theRefusalOfALoginIsTheResponse(challenge: String)
    async throws
  {
    try await withServer({ _ in .unauthorized(challenge) }) { proxy in
      try await withProxies({ $0.connectionProxyDictionary = dictionary(proxy.port) }) { session, _ in
        let loaded = try await session.data(from: url("ftp://me:wrong@one.example/x"))
        expectStatus(401, loaded)
        expectText("who?", loaded)
      }
      #expect(proxy.requests.map { $0.value("Authorization") } == [basic("me", "wrong")])
    }
  }

  @Test func aProxyThatIsNotThere() async throws {
    let port = try await closedPort()
    try await withProxies({ $0.connectionProxyDictionary = dictionary(port) }) { session, _ in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("ftp://one.example/")) }
      #expect(error?.code == .cannotConnectToHost)
      #expect(error?.localizedDescription.contains("proxy http://127.0.0.1:\(port)") == true)
    }
  }

  /// Where the way through the proxy does not work, the next one may be FTP itself.
  @Test(
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: "/usr/bin/pactester")
        || !(ProcessInfo.processInfo.environment["CI"] ?? "").isEmpty,
      "pactester is missing: apt-get install libpacparser1"))
  func aScriptDecides() async throws {
    let dead = try await closedPort()
    try await withFTP(.file()) { ftp, _, _ in
      try await withServer({ .ok($0.target) }) { proxy in
        let script = """
          function FindProxyForURL(url, host) {
            if (url == "ftp://one.example/by-path") return "PROXY 127.0.0.1:\(proxy.port)";
            return "PROXY 127.0.0.1:\(dead); DIRECT";
          }
          """
        try await withProxies({
          $0.connectionProxyDictionary = [
            kCFNetworkProxiesProxyAutoConfigEnable: 1, kCFNetworkProxiesProxyAutoConfigJavaScript: script,
          ]
        }) { session, delegate in
          let proxied = try await session.data(from: url("ftp://me:x@one.example/by-path")).0
          #expect(proxied == Data("ftp://one.example/by-path".utf8))
          _ = try await delegate.metrics.next()
          let direct = try await session.data(from: ftp.url("/a.txt")).0
          #expect(direct == Data("hello\n".utf8))
          let transactions = try await delegate.metrics.next().transactionMetrics
          #expect(transactions.map(\.networkProtocolName) == ["ftp"])
        }
      }
    }
  }

  /// Both connections go through what passes bytes on, and the proxy is told the same name for both.
  @Test func bothConnectionsAreTunnelled() async throws {
    let commands = Recorder<String>()
    let dataPort = 2_100
    try await withScriptedProxy(
      { connection in
        let head = try await connection.readHead()
        commands.record(head.components(separatedBy: "\r\n")[0])
        try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
        guard !head.contains(":\(dataPort) ") else { return try await connection.write("hello\n") }
        try await connection.write("220 ready\r\n")
        while let line = try await connection.readCommand() {
          commands.record(line)
          switch line.prefix(4) {
          case "USER": try await connection.write("230 in\r\n")
          case "TYPE": try await connection.write("200 ok\r\n")
          case "SIZE": try await connection.write("213 6\r\n")
          case "EPSV": try await connection.write("229 (|||\(dataPort)|)\r\n")
          case "RETR": try await connection.write("150 ok\r\n226 done\r\n")
          default: return
          }
        }
      }, { $0.proxyConfigurations = [tunnelling($1)] }
    ) { session, delegate in
      let data = try await session.data(from: url("ftp://one.example/a")).0
      #expect(data == Data("hello\n".utf8))
      let transaction = try await delegate.metrics.next().transactionMetrics[0]
      #expect(transaction.isProxyConnection && transaction.networkProtocolName == "ftp")
    }
    #expect(
      commands.all.prefix(7) == [
        "CONNECT one.example:21 HTTP/1.1", "USER anonymous", "TYPE I", "SIZE a", "EPSV",
        "CONNECT one.example:2100 HTTP/1.1", "RETR a",
      ])
  }
}

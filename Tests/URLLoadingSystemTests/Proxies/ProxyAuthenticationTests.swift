import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Proxies that ask who is there, by every scheme: for a request that they forward, and for a tunnel.
@Suite struct ProxyAuthenticationTests {
  private static func withSession(
    _ delegate: CredentialDelegate, _ set: (URLSessionConfiguration) -> Void,
    _ body: (URLSession) async throws -> Void
  ) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    set(configuration)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    try await body(session)
  }

  /// Whether a value of Proxy-Authorization proves the password of "ann" (RFC 7616 §3.4).
  private static func proves(_ value: String?, _ method: String, _ target: String) -> Bool {
    guard let value, let parameters = AuthenticationChallenge.parse([value]).first?.parameters,
      let nonce = parameters["nonce"], let count = parameters["nc"], let cnonce = parameters["cnonce"],
      parameters["uri"] == target
    else { return false }
    func hex(_ text: String) -> String { DigestHash.sha256.hex(Array(text.utf8)) }
    let proof = hex("\(hex("ann:Office:pass")):\(nonce):\(count):\(cnonce):auth:\(hex("\(method):\(target)"))")
    return parameters["response"] == proof
  }

  private static let digest = #"Digest realm="Office", nonce="n", qop="auth", algorithm=SHA-256"#

  /// Each request has a proof of its own, for the whole URL that the proxy is told.
  @Test func digestForForwardedRequests() async throws {
    try await withServer({ request in
      Self.proves(request.value("Proxy-Authorization"), request.method, request.target)
        ? .ok(request.target) : .status(407, fields: [("Proxy-Authenticate", Self.digest)])
    }) { proxy in
      let delegate = CredentialDelegate.user("ann", "pass")
      try await Self.withSession(delegate, { $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) {
        session in
        for path in ["a", "b", "c"] {
          try await expectText("http://one.example/\(path)", session.data(from: url("http://one.example/\(path)")))
        }
      }
      #expect(proxy.requests.count == 4)
      let counts = proxy.requests.dropFirst().map { $0.value("Proxy-Authorization")?.contains("nc=00000003") }
      #expect(counts == [false, false, true])
      let space = try #require(delegate.asked.all.first).protectionSpace
      #expect(delegate.asked.all.count == 1 && space.isProxy())
      #expect(space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest && space.realm == "Office")
    }
  }

  /// The proof is of CONNECT and its target; later tunnels are opened without a question.
  @Test func digestForTunnels() async throws {
    let heads = Recorder<String>()
    let proxy = try await LoopbackServer.startRaw { connection in
      let head = try await connection.readHead()
      heads.record(head)
      let target = String(head.split(separator: " ")[1])
      let line = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
      guard Self.proves(line.map { String($0.dropFirst(21)) }, "CONNECT", target) else {
        return try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: \(Self.digest)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let delegate = CredentialDelegate.user("ann", "pass")
    try await Self.withSession(delegate, { $0.proxyConfigurations = [tunnelling(proxy.port)] }) { session in
      for host in ["one", "two"] { try await expectText("ok", session.data(from: url("http://\(host).example/"))) }
    }
    #expect(heads.all.count == 3 && delegate.asked.all.count == 1)
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// MS-NLMP §4.2.4.3.
  private static let challenge = """
    TlRMTVNTUAACAAAADAAMADgAAAAzgoriASNFZ4mrze8AAAAAAAAAACQAJABEAAAABgBwFwAAAA9TAGUAcgB2AGUAcgACAAwARABvAG0AYQBpAG\
    4AAQAMAFMAZQByAHYAZQByAAAAAAA=
    """

  /// The type of an NTLM message; nil for none.
  private static func message(_ value: String?) -> UInt8? {
    guard let value, value.hasPrefix("NTLM "), let bytes = Data(base64Encoded: String(value.dropFirst(5))),
      bytes.count > 12
    else { return nil }
    return bytes[8]
  }

  /// All messages go over one connection, which then serves the requests of the user.
  @Test func ntlmForForwardedRequests() async throws {
    let known = Mutex<Set<Int>>([])
    try await withServer({ request in
      let connection = request.connection
      switch Self.message(request.value("Proxy-Authorization")) {
      case 1: return .status(407, fields: [("Proxy-Authenticate", "NTLM " + Self.challenge)])
      case 3:
        known.withLock { _ = $0.insert(connection) }
        return .ok("in")
      default:
        let isKnown = known.withLock { $0.contains(connection) }
        return isKnown ? .ok("in") : .status(407, fields: [("Proxy-Authenticate", "NTLM")])
      }
    }) { proxy in
      let delegate = CredentialDelegate.user("ann", "pass")
      try await Self.withSession(delegate, { $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) {
        session in
        for path in ["a", "b"] { try await expectText("in", session.data(from: url("http://one.example/\(path)"))) }
      }
      #expect(proxy.requests.count == 4 && proxy.connectionCount == 1)
      #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == [NSURLAuthenticationMethodNTLM])
    }
  }

  @Test func ntlmForTunnels() async throws {
    let steps = Recorder<UInt8?>()
    let proxy = try await LoopbackServer.startRaw { connection in
      while true {
        let head = try await connection.readHead()
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
        let step = Self.message(line.map { String($0.dropFirst(21)) })
        steps.record(step)
        if step == 3 { break }
        let challenge = step == 1 ? "NTLM " + Self.challenge : "NTLM"
        try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 4\r\n\r\nwho?")
        if step == nil { return }
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let delegate = CredentialDelegate.user("ann", "pass")
    try await Self.withSession(delegate, { $0.proxyConfigurations = [tunnelling(proxy.port)] }) { session in
      try await expectText("ok", session.data(from: url("http://one.example/")))
    }
    #expect(steps.all == [nil, 1, 3] && delegate.asked.all.count == 1)
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// The proxy closes each connection on which it asks without a message: later tunnels begin with one.
  @Test(arguments: ["", "Connection: close\r\n", "Proxy-Connection: close\r\n"])
  func aProxyThatClosesWhenItAsksIsAnsweredWithoutAnotherQuestion(closing: String) async throws {
    let steps = Recorder<UInt8?>()
    let proxy = try await LoopbackServer.startRaw { connection in
      while true {
        let head = try await connection.readHead()
        let line = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
        let step = Self.message(line.map { String($0.dropFirst(21)) })
        steps.record(step)
        if step == 3 { break }
        let challenge = step == 1 ? "NTLM \(Self.challenge)\r\n" : "NTLM\r\n" + closing
        try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)Content-Length: 4\r\n\r\nwho?")
        if step == nil { return }
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      _ = try await connection.readHead()
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let delegate = CredentialDelegate.user("ann", "pass")
    try await Self.withSession(delegate, { $0.proxyConfigurations = [tunnelling(proxy.port)] }) { session in
      for host in ["one", "two", "three"] {
        try await expectText("ok", session.data(from: url("http://\(host).example/")))
      }
    }
    #expect(steps.all == [nil, 1, 3, nil, 1, 3, 1, 3] && delegate.asked.all.count == 1, "\(steps.all)")
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// A proxy that is out of order has said nothing about the credential: it is not kept.
  @Test(arguments: [502, 503]) func aCredentialIsNotKeptWhereTheProxyFails(status: Int) async throws {
    try await withServer({ request in
      request.value("Proxy-Authorization") == nil
        ? .status(407, fields: [("Proxy-Authenticate", "Basic realm=Office")]) : .status(status, body: "broken")
    }) { proxy in
      let delegate = CredentialDelegate.user("ann", "perhaps wrong")
      try await Self.withSession(delegate, { $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) {
        session in
        for _ in 0..<2 { try await expectStatus(status, session.data(from: url("http://one.example/"))) }
        #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      }
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 0])
    }
  }

  /// A proxy that asks did not pass the request on, so the server's credential has opened nothing.
  @Test func aProxysQuestionSaysNothingOfTheServersCredential() async throws {
    try await withServer({ request in
      request.value("Authorization") == nil
        ? .unauthorized("Basic realm=Shop") : .status(407, fields: [("Proxy-Authenticate", "Basic realm=Office")])
    }) { proxy in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.isProxy()
          ? (.performDefaultHandling, nil)
          : (.useCredential, URLCredential(user: "ann", password: "perhaps wrong", persistence: .forSession))
      }
      try await Self.withSession(delegate, { $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) {
        session in
        for _ in 0..<2 { try await expectStatus(407, session.data(from: url("http://one.example/"))) }
        #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      }
      #expect(proxy.requests.map { $0.value("Authorization") != nil } == [false, true, false, true])
    }
  }

  /// The settings' password goes to a proxy that asks for less than before only if the app says so.
  @Test func aWeakerSchemeThanBeforeIsNotAnsweredUnasked() async throws {
    let isDowngraded = Mutex(false)
    let values = Recorder<String>()
    try await withServer({ request in
      values.record(request.value("Proxy-Authorization") ?? "none")
      if isDowngraded.withLock({ $0 }) { return .status(407, fields: [("Proxy-Authenticate", "Basic realm=Office")]) }
      return Self.proves(request.value("Proxy-Authorization"), request.method, request.target)
        ? .ok("in") : .status(407, fields: [("Proxy-Authenticate", Self.digest)])
    }) { proxy in
      var dictionary = proxyDictionary(http: proxy.port)
      dictionary[kCFProxyUsernameKey] = "ann"
      dictionary[kCFProxyPasswordKey] = "pass"
      try await withProxies({ $0.connectionProxyDictionary = dictionary }) { session, _ in
        try await expectText("in", session.data(from: url("http://one.example/")))
        isDowngraded.withLock { $0 = true }
        let (_, response) = try await session.data(from: url("http://one.example/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 407)
      }
    }
    #expect(!values.all.contains { $0.hasPrefix("Basic") })
  }

  /// A wrong password in the settings is tried once; then the app is asked, then the 407 is the result.
  @Test func aWrongPasswordOfTheSettingsIsTriedOnce() async throws {
    try await withServer({ _ in .status(407, fields: [("Proxy-Authenticate", "Basic realm=x")], body: "who?") }) {
      proxy in
      try await withProxies({
        var dictionary = proxyDictionary(http: proxy.port)
        dictionary[kCFProxyUsernameKey] = "ann"
        dictionary[kCFProxyPasswordKey] = "wrong"
        $0.connectionProxyDictionary = dictionary
      }) { session, _ in
        let (_, response) = try await session.data(from: url("http://one.example/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 407)
      }
      #expect(proxy.requests.count == 2)
    }
  }

  // MARK: A 407 that is not the proxy's

  /// RFC 9110 §15.5.8: only a proxy asks so. What comes through a tunnel comes from the server, which is told nothing.
  @Test(arguments: [true, false]) func theCredentialOfAProxyIsNotForTheServerBehindIt(isUnasked: Bool) async throws {
    let (heads, inner) = (Recorder<String>(), Recorder<String>())
    let proxy = try await LoopbackServer.startRaw { connection in
      let head = try await connection.readHead()
      heads.record(head)
      guard head.contains("Proxy-Authorization: \(basic("ann", "pass"))\r\n") else {
        return try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"Office\"\r\nContent-Length: 0\r\n"
            + "Connection: close\r\n\r\n")
      }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\n")
      // From here on it is the server.
      while let head = try? await connection.readHead(), !head.isEmpty {
        inner.record(head)
        try await connection.write(
          "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"Office\"\r\nContent-Length: 4\r\n\r\nwho?")
      }
    }
    let delegate = CredentialDelegate.user("ann", "pass")
    try await Self.withSession(delegate, { $0.proxyConfigurations = [tunnelling(proxy.port)] }) { session in
      // The second time the proxy's credential is known.
      for _ in 0..<(isUnasked ? 2 : 1) {
        let loaded = try await session.data(from: url("http://one.example/a"))
        expectStatus(407, loaded)
        expectText("who?", loaded)
      }
    }
    #expect(delegate.asked.all.count == 1, "the proxy itself asks once")
    #expect(!inner.all.isEmpty && inner.all.allSatisfy { $0.hasPrefix("GET /a ") })
    #expect(inner.all.allSatisfy { !$0.lowercased().contains("authorization") }, "\(inner.all)")
    #expect(heads.all.count == 2)
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// A server that is asked without a proxy.
  @Test(.overEveryVersion) func aServerThatAsksAsAProxyIsToldNothing() async throws {
    try await withServer({ _ in .status(407, fields: [("Proxy-Authenticate", "Basic realm=\"x\"")], body: "who?") }) {
      server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectStatus(407, session.data(from: server.url("/a"))) }
      #expect(delegate.asked.all.isEmpty && server.requests.count == 2)
      #expect(server.requests.allSatisfy { $0.value("Proxy-Authorization") == nil && $0.value("Authorization") == nil })
    }
  }

  /// A proxy that forwards may pass on a 407 of the server, which looks like its own. The answer goes to the proxy: once for
  /// what the app knows, and never to the server by another way.
  @Test func anAnswerToA407ThatIsPassedOnGoesToTheProxyAlone() async throws {
    try await withServer({ _ in .ok("direct") }) { server in
      try await withServer({ request in
        request.target.hasSuffix("/asks")
          ? .status(407, fields: [("Proxy-Authenticate", "Basic realm=\"Server\"")])
          : .status(302, fields: [("Location", server.url("/direct").absoluteString)])
      }) { proxy in
        let delegate = CredentialDelegate { challenge in
          guard challenge.previousFailureCount == 0 else { return (.performDefaultHandling, nil) }
          return (.useCredential, URLCredential(user: "ann", password: "pass", persistence: .forSession))
        }
        try await Self.withSession(
          delegate,
          {
            var dictionary = proxyDictionary(http: proxy.port)
            dictionary[kCFNetworkProxiesExceptionsList] = ["127.0.0.1", "localhost"]
            $0.connectionProxyDictionary = dictionary
          }
        ) { session in
          try await expectStatus(407, session.data(from: url("http://one.example/asks")))
          // The proxy lets this one through, and leads to a server that is asked without it.
          try await expectText("direct", session.data(from: url("http://one.example/moved")))
        }
        #expect(delegate.asked.all.map { $0.protectionSpace.isProxy() } == [true, true])
        #expect(proxy.requests.map { $0.value("Proxy-Authorization") } == [nil, basic("ann", "pass"), nil])
        #expect(proxy.requests.allSatisfy { $0.value("Authorization") == nil })
      }
      #expect(server.requests.map(\.path) == ["/direct"])
      #expect(
        server.requests.allSatisfy { $0.value("Proxy-Authorization") == nil && $0.value("Authorization") == nil })
    }
  }
}

import Foundation
import LoopbackServer
import NIOCore
import Testing
import URLLoadingSystem

/// Plain HTTP asked of a proxy. The names exist nowhere: whoever is asked is the proxy.
@Suite struct HTTPProxyTests {
  @Test func theProxyIsToldTheWholeURLAndServesEveryHost() async throws {
    try await withServer({ .ok($0.target) }) { proxy in
      try await withProxies({ $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) { session, delegate in
        for text in [
          "http://one.example/a?b=c#d", "http://two.example:8080", "http://bücher.example/", "http://[2001:db8::1]/",
        ] {
          _ = try await session.data(from: url(text))
        }
        let heads = proxy.requests.map(\.head)
        #expect(
          heads.map(\.target) == [
            "http://one.example/a?b=c", "http://two.example:8080/", "http://xn--bcher-kva.example/",
            "http://[2001:db8::1]/",
          ])
        #expect(
          heads.map { $0.value("Host") } == [
            "one.example", "two.example:8080", "xn--bcher-kva.example", "[2001:db8::1]",
          ])
        #expect(proxy.connectionCount == 1)
        let transactions = try await (0..<4).asyncMap { _ in try await delegate.metrics.next().transactionMetrics[0] }
        #expect(transactions.allSatisfy { $0.isProxyConnection && $0.remotePort == proxy.port })
        #expect(transactions.map(\.isReusedConnection) == [false, true, true, true])
      }
    }
  }

  @Test func withoutAProxyTheMetricsSaySo() async throws {
    try await withServer({ .ok($0.target) }) { server in
      try await withProxies({ $0.connectionProxyDictionary = [:] }) { session, delegate in
        _ = try await session.data(from: server.url("/x"))
        let value1 = try await delegate.metrics.next().transactionMetrics.map(\.isProxyConnection)
        #expect(value1 == [false])
      }
      #expect(server.requests.map(\.head.target) == ["/x"])
    }
  }

  @Test func exceptionsAndSimpleNamesGoDirectly() async throws {
    try await withServer({ .ok("direct \($0.target)") }) { server in
      try await withServer({ _ in .ok("proxy") }) { proxy in
        try await withProxies({
          var dictionary = proxyDictionary(http: proxy.port)
          dictionary[kCFNetworkProxiesExceptionsList] = ["127.0.0.0/8"]
          dictionary[kCFNetworkProxiesExcludeSimpleHostnames] = true
          $0.connectionProxyDictionary = dictionary
        }) { session, _ in
          func body(_ url: URL) async throws -> String {
            String(decoding: try await session.data(from: url).0, as: UTF8.self)
          }
          let value2 = try await body(server.url("/1"))
          #expect(value2 == "direct /1")
          let value3 = try await body(server.url("/2", host: "localhost"))
          #expect(value3 == "direct /2")
          let value4 = try await body(url("http://three.example/"))
          #expect(value4 == "proxy")
        }
      }
    }
  }

  @Test func theCredentialIsForTheProxyAlone() async throws {
    try await withServer({ request in
      let value = request.value("Proxy-Authorization")
      guard value == nil, request.target.hasPrefix("http:") else { return .ok(value ?? "none") }
      return .status(407, fields: [("Proxy-Authenticate", "Basic realm=x")])
    }) { server in
      try await withProxies({
        var dictionary = proxyDictionary(http: server.port)
        dictionary[kCFProxyUsernameKey] = "me"
        dictionary[kCFProxyPasswordKey] = "secret"
        dictionary[kCFNetworkProxiesExceptionsList] = ["127.0.0.1"]
        $0.connectionProxyDictionary = dictionary
      }) { session, _ in
        let (data, _) = try await session.data(from: url("http://one.example/"))
        #expect(String(decoding: data, as: UTF8.self) == "Basic bWU6c2VjcmV0")
        let (direct, _) = try await session.data(from: server.url())
        #expect(String(decoding: direct, as: UTF8.self) == "none")
        // From the second request on it goes out unasked.
        try await expectText("Basic bWU6c2VjcmV0", session.data(from: url("http://two.example/")))
        #expect(server.requests.count == 4)
      }
    }
  }

  /// What the app itself says to proxies reaches those that are asked, and no server.
  @Test(arguments: [true, false]) func theAppsOwnCredentialIsForProxiesAlone(inRequest: Bool) async throws {
    let dead = try await closedPort()
    try await withServer({ .ok($0.value("Proxy-Authorization") ?? "none") }) { server in
      func answer(_ url: URL, _ way: (URLSessionConfiguration) -> Void) async throws -> String {
        var answer = ""
        try await withProxies({
          way($0)
          if !inRequest { $0.httpAdditionalHeaders = ["proxy-authorization": "Basic own"] }
        }) { session, _ in
          var request = URLRequest(url: url)
          if inRequest { request.setValue("Basic own", forHTTPHeaderField: "Proxy-Authorization") }
          answer = String(decoding: try await session.data(for: request).0, as: UTF8.self)
        }
        return answer
      }
      var exceptions = proxyDictionary(http: dead)
      exceptions[kCFNetworkProxiesExceptionsList] = ["127.0.0.1"]
      var failing = tunnelling(dead)
      failing.allowFailover = true
      let proxy = "http://127.0.0.1:\(server.port)"
      let forwarded = try await answer(url("http://one.example/")) {
        $0.connectionProxyDictionary = proxyDictionary(http: server.port)
      }
      #expect(forwarded == "Basic own")
      let excepted = try await answer(server.url()) { $0.connectionProxyDictionary = exceptions }
      #expect(excepted == "none")
      let excluded = try await answer(server.url()) {
        $0.proxyEnvironment = ["http_proxy": proxy, "no_proxy": "127.0.0.1"]
      }
      #expect(excluded == "none")
      let failedOver = try await answer(server.url()) { $0.proxyConfigurations = [failing] }
      #expect(failedOver == "none")
    }
  }

  @Test func theDelegateIsAskedAndItsAnswerRemembered() async throws {
    let proxy = try await LoopbackServer.start { request in
      request.value("Proxy-Authorization") == "Basic bWU6c2VjcmV0"
        ? .ok(request.body.text)
        : .status(407, fields: [("Proxy-Authenticate", "Digest realm=\"d\", Basic realm=\"Office\"")], body: "who?")
    }
    let asker = PasswordDelegate(user: "me", passwords: ["wrong", "secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = proxyDictionary(http: proxy.port)
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    for _ in 0..<2 {
      var request = URLRequest(url: try url("http://one.example/"))
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      let (data, response) = try await session.data(for: request)
      #expect((response as? HTTPURLResponse)?.statusCode == 200 && String(decoding: data, as: UTF8.self) == "body")
    }
    let challenges = asker.challenges.all
    #expect(challenges.map(\.previousFailureCount) == [0, 1])
    let space = try #require(challenges.first?.protectionSpace)
    #expect(space.isProxy() && space.host == "127.0.0.1" && space.port == proxy.port && space.realm == "Office")
    #expect(space.proxyType == NSURLProtectionSpaceHTTPProxy)
    #expect(space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
    #expect((challenges.first?.failureResponse as? HTTPURLResponse)?.statusCode == 407)
    #expect(proxy.requests.count == 4)
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  /// The connection that led to the wrong server is not used again, also when the proxy asks for a credential in between.
  @Test func aMisdirectedRequestStaysOffItsConnectionWhenTheProxyAsksAgain() async throws {
    let connections = Recorder<Int>()
    let proxy = try await LoopbackServer.start { request in
      connections.record(request.connection)
      switch connections.all.count {
      case 1, 3: return .status(407, fields: [("Proxy-Authenticate", "Basic realm=\"Office\"")])
      case 2: return .status(421)
      default: return .ok("fine")
      }
    }
    let asker = PasswordDelegate(user: "me", passwords: ["secret", "secret"])
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = proxyDictionary(http: proxy.port)
    let session = URLSession(configuration: configuration, delegate: asker, delegateQueue: nil)
    let (data, _) = try await session.data(from: url("http://one.example/"))
    #expect(String(decoding: data, as: UTF8.self) == "fine")
    let used = connections.all
    try #require(used.count == 4)
    #expect(used[2] != used[1])
    #expect(used[3] != used[1])
    session.invalidateAndCancel()
    try await proxy.expectNoOpenConnections()
    await proxy.shutdown()
  }

  @Test func withoutAnAnswerThe407IsTheResponse() async throws {
    try await withServer({ _ in .status(407, fields: [("Proxy-Authenticate", "Basic realm=x")], body: "who?") }) {
      proxy in
      try await withProxies({ $0.connectionProxyDictionary = proxyDictionary(http: proxy.port) }) { session, _ in
        let (data, response) = try await session.data(from: url("http://one.example/"))
        #expect((response as? HTTPURLResponse)?.statusCode == 407 && String(decoding: data, as: UTF8.self) == "who?")
      }
    }
  }

  @Test func aProxyThatIsNotThere() async throws {
    let port = try await closedPort()
    try await withProxies({ $0.connectionProxyDictionary = proxyDictionary(http: port) }) { session, delegate in
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://one.example/")) }
      #expect(error?.code == .cannotConnectToHost)
      #expect(error?.localizedDescription.contains("proxy http://127.0.0.1:\(port)") == true)
      #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 306)
      let value5 = try await delegate.metrics.next().transactionMetrics.first?.isProxyConnection
      #expect(value5 == true)
    }
  }

  @Test(arguments: [
    (["http_proxy": "P"], "proxy"), (["HTTP_PROXY": "P"], "proxy"), (["all_proxy": "P"], "proxy"),
    (["http_proxy": "P", "no_proxy": "other.example"], "proxy"),
  ])
  func theEnvironmentIsHonoured(variables: [String: String], expected: String) async throws {
    try await withServer({ _ in .ok("proxy") }) { proxy in
      try await withProxies({
        $0.proxyEnvironment = variables.mapValues { $0 == "P" ? "http://127.0.0.1:\(proxy.port)" : $0 }
      }) { session, _ in
        let (data, _) = try await session.data(from: url("http://one.example/"))
        #expect(String(decoding: data, as: UTF8.self) == expected)
        // This machine itself is never reached through a proxy that the environment names.
        _ = try await session.data(from: proxy.url("/me"))
        #expect(proxy.requests.last?.head.target == "/me")
      }
    }
  }

  /// What arrives with a web request as the field "Proxy:" is nobody's setting.
  @Test func aCGIProgramDoesNotBelieveItsRequests() async throws {
    try await withServer({ _ in .ok("proxy") }) { proxy in
      try await withProxies({
        $0.proxyEnvironment = ["HTTP_PROXY": "127.0.0.1:\(proxy.port)", "REQUEST_METHOD": "GET"]
      }) { session, _ in
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url("http://no.invalid/")) }
        #expect(error?.code == .cannotFindHost)
        #expect(proxy.connectionCount == 0)
      }
    }
  }

  @Test func aResolvedProxyIsUnderstood() async throws {
    try await withServer({ .ok($0.target) }) { proxy in
      try await withProxies({
        $0.connectionProxyDictionary = [
          kCFProxyTypeKey: kCFProxyTypeHTTP, kCFProxyHostNameKey: "127.0.0.1", kCFProxyPortNumberKey: proxy.port,
        ]
      }) { session, _ in
        let (data, _) = try await session.data(from: url("http://one.example/r"))
        #expect(String(decoding: data, as: UTF8.self) == "http://one.example/r")
      }
    }
  }
}

/// Gives one password after the other.
final class PasswordDelegate: NSObject, URLSessionDataDelegate, Sendable {
  let challenges = Recorder<URLAuthenticationChallenge>()
  let metrics = Recorder<URLSessionTaskMetrics>()
  private let user: String
  private let passwords: [String]

  init(user: String, passwords: [String]) {
    self.user = user
    self.passwords = passwords
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    challenges.record(challenge)
    guard challenge.previousFailureCount < passwords.count else {
      return completionHandler(.performDefaultHandling, nil)
    }
    let password = passwords[challenge.previousFailureCount]
    completionHandler(.useCredential, URLCredential(user: user, password: password, persistence: .forSession))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    self.metrics.record(metrics)
  }
}

extension Sequence {
  func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}

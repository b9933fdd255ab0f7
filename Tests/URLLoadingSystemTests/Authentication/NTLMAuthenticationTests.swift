import Crypto
import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Loads from servers that authenticate a connection (MS-NTHT).
@Suite struct NTLMAuthenticationTests {
  /// The challenge message of MS-NLMP §4.2.4.3.
  private static let challenge = """
    TlRMTVNTUAACAAAADAAMADgAAAAzgoriASNFZ4mrze8AAAAAAAAAACQAJABEAAAABgBwFwAAAA9TAGUAcgB2AGUAcgACAAwARABvAG0AYQBpAG\
    4AAQAMAFMAZQByAHYAZQByAAAAAAA=
    """

  /// Knows which user a connection was authenticated for.
  private final class Connections: Sendable {
    private let users = Mutex<[Int: String]>([:])

    func forget() { users.withLock { $0 = [:] } }

    /// The same, fresh for an hour.
    func cacheableReply(to request: RecordedRequest) -> Reply {
      var reply = reply(to: request)
      guard case .head(200, let reason, let fields)? = reply.steps.first else { return reply }
      reply.steps[0] = .head(200, reason: reason, fields: fields + [("Cache-Control", "max-age=3600")])
      return reply
    }

    func reply(to request: RecordedRequest) -> Reply {
      let connection = request.connection
      guard let value = request.value("Authorization"), value.hasPrefix("NTLM "),
        let message = Data(base64Encoded: String(value.dropFirst(5))), message.count > 12
      else {
        let user = users.withLock { $0[connection] }
        return user.map { .ok($0) } ?? .unauthorized("NTLM", body: "who?")
      }
      switch message[8] {
      case 1:
        users.withLock { $0[connection] = nil }
        return .unauthorized("NTLM " + NTLMAuthenticationTests.challenge)
      case 3:
        let user = NTLMAuthenticationTests.user(in: message)
        guard user != "mallory" else { return .unauthorized("NTLM") }
        users.withLock { $0[connection] = user }
        return .ok(user)
      default: return .status(400)
      }
    }
  }

  /// MS-NLMP §2.2.1.3: length at 36, offset at 40, UTF-16.
  private static func user(in message: Data) -> String {
    let bytes = Array(message)
    guard bytes.count >= 44 else { return "" }
    let (length, offset) = (Int(bytes[36]) | Int(bytes[37]) << 8, Int(bytes[40]) | Int(bytes[41]) << 8)
    guard offset + length <= bytes.count else { return "" }
    let units = stride(from: offset, to: offset + length - 1, by: 2).map {
      UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// The connection speaks for the user from then on.
  @Test func threeMessagesOpenAConnection() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let delegate = NTLMDelegate("ann")
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      try await expectText("ann", session.data(from: server.url("/a")))
      try await expectText("ann", session.data(from: server.url("/b")))
      #expect(server.requests.count == 4 && server.connectionCount == 1)
      #expect(server.requests.last?.value("Authorization") == nil)
      #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == [NSURLAuthenticationMethodNTLM])
      #expect(delegate.asked.all.first?.protectionSpace.realm == nil)
    }
  }

  @Test func aBodyIsSentWithEachMessage() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback, delegate: NTLMDelegate("ann"), delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let (data, _) = try await session.upload(for: request, from: Data("body".utf8))
      #expect(String(decoding: data, as: UTF8.self) == "ann")
      #expect(server.requests.map(\.body.text) == ["body", "body", "body"])
    }
  }

  /// MS-NLMP §2.2.2.1, MsvAvChannelBindings; RFC 5929 §4: a server in between cannot pass the answer on.
  @Test(arguments: [true, false]) func theAnswerIsBoundToTheServersCertificate(isSecure: Bool) async throws {
    let identity = try TestCertificates.shared().localhost
    let connections = Connections()
    let server = try await LoopbackServer.start(tls: isSecure ? ServerTLS(identity) : nil) { connections.reply(to: $0) }
    let configuration = URLSessionConfiguration.loopback
    configuration.trustRoots = .file(identity.authorityFile)
    let session = URLSession(configuration: configuration, delegate: NTLMDelegate("ann"), delegateQueue: nil)
    try await expectText("ann", session.data(from: server.url()))
    let value = try #require(server.requests.compactMap { $0.value("Authorization") }.last)
    let message = Array(try #require(Data(base64Encoded: String(value.dropFirst(5)))))
    let pem = try Data(contentsOf: URL(fileURLWithPath: identity.certificateFile))
    let certificate = try #require(SecCertificate.certificates(inPEM: pem).first)
    let hash = NTLMChannelBindings.hash(
      certificateHash: isSecure ? Array(SHA256.hash(data: certificate.derBytes)) : nil)
    #expect(message.firstRange(of: [0x0A, 0, 16, 0] + hash) != nil)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The last message answers a challenge of the same connection: where that is gone, the conversation begins anew, and the
  /// app is not asked once more.
  @Test(arguments: [true, false]) func aConnectionThatEndsInTheMiddleOfAConversationIsReplaced(isAnnounced: Bool)
    async throws
  {
    let connections = Connections()
    let challenged = Mutex<Set<Int>>([])
    try await withServer({ request in
      let message = request.value("Authorization").flatMap { Data(base64Encoded: String($0.dropFirst(5))) }
      guard let message, message.count > 8 else { return connections.reply(to: request) }
      if message[8] == 3, !challenged.withLock({ $0.contains(request.connection) }) { return .unauthorized("NTLM") }
      var reply = connections.reply(to: request)
      guard message[8] == 1,
        challenged.withLock({
          $0.insert(request.connection); return $0.count == 1
        }),
        case .head(401, let reason, let fields)? = reply.steps.first
      else { return reply }
      if isAnnounced { reply.steps[0] = .head(401, reason: reason, fields: fields + [("Connection", "close")]) }
      reply.steps.append(.closeGracefully)
      return reply
    }) { server in
      let delegate = NTLMDelegate("ann")
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      try await expectText("ann", session.data(from: server.url("/a")))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0])
      #expect(server.connectionCount == 2)
    }
  }

  /// A server that ends each connection in the middle is answered a bounded number of times.
  @Test func aServerThatEndsEachConnectionInTheMiddleIsGivenUp() async throws {
    let connections = Connections()
    try await withServer({ request in
      var reply = connections.reply(to: request)
      if request.value("Authorization") != nil { reply.steps.append(.closeGracefully) }
      if case .head(200, _, _)? = reply.steps.first { return .unauthorized("NTLM") }
      return reply
    }) { server in
      let session = URLSession(configuration: .loopback, delegate: NTLMDelegate("ann"), delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url()))
      #expect(server.requests.count < 60)
    }
  }

  /// Many at once, by two users: each hears of its own user only.
  @Test func noUserGetsTheOthersConnection() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let users = ["ann", "bob"]
      let sessions = users.map { URLSession(configuration: .loopback, delegate: NTLMDelegate($0), delegateQueue: nil) }
      defer { for session in sessions { session.invalidateAndCancel() } }
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<60 {
          group.addTask {
            let (data, _) = try await sessions[number % 2].data(from: server.url("/\(number)"))
            return (number % 2, String(decoding: data, as: UTF8.self))
          }
        }
        for try await (user, answer) in group { #expect(answer == users[user]) }
      }
    }
  }

  /// The same with the users of the URLs, in one session.
  @Test func noUserOfOneSessionGetsTheOthersConnection() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      let users = ["ann", "bob"]
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<60 {
          let url = try server.url("/\(number)").naming(users[number % 2], "p")
          group.addTask {
            let (data, _) = try await session.data(from: url)
            return (number % 2, String(decoding: data, as: UTF8.self))
          }
        }
        for try await (user, answer) in group { #expect(answer == users[user]) }
      }
    }
  }

  /// A connection that was authenticated is asked again in the middle of its requests: the user says it again, and the
  /// app is not asked.
  @Test func aServerThatForgetsTheUserIsToldAgain() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let delegate = NTLMDelegate("ann")
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      try await expectText("ann", session.data(from: server.url("/a")))
      connections.forget()
      var request = URLRequest(url: server.url("/b"))
      request.httpMethod = "POST"
      try await expectText("ann", session.upload(for: request, from: Data("body".utf8)))
      #expect(server.requests.map(\.body.text) == ["", "", "", "body", "body", "body"])
      #expect(delegate.asked.all.count == 1)
    }
  }

  /// The question comes before the body is there: the connection that is full of it is given up, and the conversation
  /// goes over another one.
  @Test func aServerThatAsksInTheMiddleOfABodyIsAnswered() async throws {
    let connections = Connections()
    var options = LoopbackServer.Options()
    options.onHead = { head in head.value("Authorization") == nil ? .reply(.unauthorized("NTLM")) : .readBody }
    options.recordBodies = .digestOnly
    let server = try await LoopbackServer.start(options: options) { connections.reply(to: $0) }
    let delegate = NTLMDelegate("ann")
    let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    let body = Data(repeating: 7, count: 4_000_000)
    try await expectText("ann", session.upload(for: request, from: body))
    let asked = server.requests.filter { $0.value("Authorization") != nil }
    #expect(asked.map { Int($0.body.count) } == [body.count, body.count] && Set(asked.map(\.connection)).count == 1)
    #expect(delegate.asked.all.count == 1)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// RFC 4559 §6: a proxy that does not keep connections apart may send another user's request over the one that speaks for
  /// this user. The server is not answered through it, or by a scheme that authenticates each request.
  @Test(arguments: [false, true], [false, true])
  func aForwardingProxyHasToKeepConnectionsApart(isKeptApart: Bool, offersBasic: Bool) async throws {
    let connections = Connections()
    try await withServer({ request in
      if request.value("Authorization") == basic("ann", "p") { return .ok("by Basic") }
      var reply = connections.reply(to: request)
      guard case .head(401, let reason, var fields)? = reply.steps.first else { return reply }
      if isKeptApart { fields.append(("Proxy-Support", "Session-Based-Authentication")) }
      if offersBasic { fields.append(("WWW-Authenticate", #"Basic realm="here""#)) }
      reply.steps[0] = .head(401, reason: reason, fields: fields)
      return reply
    }) { proxy in
      let session = URLSession.answering(.user("ann", "p")) {
        $0.connectionProxyDictionary = proxyDictionary(http: proxy.port)
      }
      defer { session.invalidateAndCancel() }
      let loaded = try await session.data(from: url("http://one.example/a"))
      expectText(isKeptApart ? "ann" : offersBasic ? "by Basic" : "who?", loaded)
      let said = proxy.requests.compactMap { $0.value("Authorization")?.prefix(5) }
      #expect(said == (isKeptApart ? ["NTLM ", "NTLM "] : offersBasic ? ["Basic"] : []))
    }
  }

  /// Both the proxy and the server authenticate connections. One that speaks for a user to the server serves no other user,
  /// though it is the same one for the proxy.
  @Test func aProxyThatKnowsConnectionsGivesNoUsersToOthers() async throws {
    let connections = Connections()
    let known = Mutex<Set<Int>>([])
    try await withServer({ request in
      let value = request.value("Proxy-Authorization").flatMap { Data(base64Encoded: String($0.dropFirst(5))) }
      guard value.map({ $0.count > 12 && $0[8] == 3 }) ?? known.withLock({ $0.contains(request.connection) }) else {
        let challenge = value == nil ? "NTLM" : "NTLM " + NTLMAuthenticationTests.challenge
        return .status(407, fields: [("Proxy-Authenticate", challenge)], body: "who?")
      }
      known.withLock { _ = $0.insert(request.connection) }
      var reply = connections.reply(to: request)
      guard case .head(401, let reason, let fields)? = reply.steps.first else { return reply }
      reply.steps[0] = .head(
        401, reason: reason, fields: fields + [("Proxy-Support", "Session-Based-Authentication")])
      return reply
    }) { proxy in
      let session = URLSession.answering(nil) {
        $0.connectionProxyDictionary = [
          "HTTPEnable": 1, "HTTPProxy": "http://me:p@127.0.0.1", "HTTPPort": proxy.port,
        ]
      }
      defer { session.invalidateAndCancel() }
      let address = try url("http://one.example/a")
      for user in ["ann", "bob", "ann"] { try await expectText(user, session.data(from: address.naming(user, "p"))) }
    }
  }

  /// What a connection that speaks for one user has brought answers no other user, though no field of their requests
  /// differs.
  @Test func aCacheTellsTheUsersOfConnectionsApart() async throws {
    let connections = Connections()
    try await withServer({ connections.cacheableReply(to: $0) }) { server in
      let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
      let session = URLSession.answering(nil) { $0.urlCache = cache }
      let stranger = URLSession.answering(nil) { $0.urlCache = cache }
      defer { for session in [session, stranger] { session.invalidateAndCancel() } }
      for user in ["ann", "bob"] {
        let url = try server.url("/a").naming(user, "p")
        // The second request has no field that says who asks.
        for _ in 0..<2 { try await expectText(user, session.data(from: url)) }
      }
      try await expectStatus(401, stranger.data(from: server.url("/a")))
    }
  }

  /// The same user is answered from the cache.
  @Test func aCacheAnswersTheUserOfAConnection() async throws {
    let connections = Connections()
    try await withServer({ connections.cacheableReply(to: $0) }) { server in
      let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
      let session = URLSession(
        configuration: {
          let configuration = URLSessionConfiguration.loopback
          configuration.urlCache = cache
          return configuration
        }(), delegate: NTLMDelegate("ann"), delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      for _ in 0..<3 { try await expectText("ann", session.data(from: server.url("/a"))) }
      #expect(server.requests.count == 3)
    }
  }

  /// Only a connection of HTTP/1.1 can speak for one user.
  @Test func aServerOfHTTP2IsAnsweredOverHTTP1() async throws {
    let connections = Connections()
    let server = try await LoopbackServer.start(tls: WireVersion.http2.tls()) { connections.reply(to: $0) }
    let session = URLSession(configuration: .loopback, delegate: NTLMDelegate("ann"), delegateQueue: nil)
    for path in ["/a", "/b"] { try await expectText("ann", session.data(from: server.url(path))) }
    let said = server.requests.filter { $0.value("Authorization") != nil }
    // The server is asked over HTTP/2 once. Then the session knows that its connections have to speak for the user, and
    // the one that does is used again.
    #expect(server.requests.map(\.head.version) == ["HTTP/2", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1"])
    #expect(said.map(\.path) == ["/a", "/a"] && Set(server.requests.dropFirst().map(\.connection)).count == 1)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func aRefusedUserGetsTheResponse() async throws {
    let connections = Connections()
    try await withServer({ connections.reply(to: $0) }) { server in
      let delegate = NTLMDelegate("mallory")
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      let (_, response) = try await session.data(from: server.url())
      #expect((response as? HTTPURLResponse)?.statusCode == 401)
      #expect((1...9).contains(delegate.asked.all.count))
    }
  }

  @Test(arguments: ["NTLM", "NTLM =", "NTLM AAAA", "NTLM TlRMTVNTUAACAAAA"])
  func aServerThatNeverHasEnoughIsAnsweredABoundedNumberOfTimes(_ value: String) async throws {
    try await withServer({ _ in .unauthorized(value) }) { server in
      let session = URLSession(configuration: .loopback, delegate: NTLMDelegate("ann"), delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      let (_, response) = try await session.data(from: server.url())
      #expect((response as? HTTPURLResponse)?.statusCode == 401)
      #expect(server.requests.count < 40)
    }
  }
}

/// Answers the challenges of connections for one user; a user that is refused once is given up.
private final class NTLMDelegate: NSObject, URLSessionDelegate, Sendable {
  let asked = Recorder<URLAuthenticationChallenge>()
  private let user: String

  init(_ user: String) { self.user = user }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodNTLM else {
      return (.performDefaultHandling, nil)
    }
    asked.record(challenge)
    return (.useCredential, URLCredential(user: user, password: "p", persistence: .forSession))
  }
}

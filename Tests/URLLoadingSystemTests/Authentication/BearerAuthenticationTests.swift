import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Loads from servers that want a token (RFC 6750).
@Suite struct BearerAuthenticationTests {
  private static let challenge = #"Bearer realm="api", scope="read write", error="invalid_token""#

  private static func protected(by token: String, _ request: RecordedRequest) -> Reply {
    request.value("Authorization") == "Bearer " + token ? .ok("in") : .unauthorized(challenge, body: "no")
  }

  private static func token(
    _ token: String, persistence: URLCredential.Persistence = .forSession
  ) -> URLCredential { URLCredential(user: "", password: token, persistence: persistence) }

  @Test(.overHTTP1To3) func theDelegateIsAskedForATokenAndTheNextRequestSaysItUnasked() async throws {
    try await withServer({ Self.protected(by: "mF_9.B5f-4.1JqM", $0) }) { server in
      let delegate = CredentialDelegate { _ in (.useCredential, Self.token("mF_9.B5f-4.1JqM")) }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/a/b")))
      try await expectText("in", session.data(from: server.url("/a/c")))
      let challenge = try #require(delegate.asked.all.first)
      #expect(delegate.asked.all.count == 1)
      #expect(challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodBearer)
      #expect(challenge.protectionSpace.realm == "api" && challenge.protectionSpace.host == server.url().host)
      #expect(challenge.previousFailureCount == 0 && challenge.proposedCredential == nil)
      // The app reads there which rights the token needs, and why the last one was refused.
      let response = try #require(challenge.failureResponse as? HTTPURLResponse)
      #expect(response.value(forHTTPHeaderField: "WWW-Authenticate") == Self.challenge)
      let said = server.requests.map { $0.value("Authorization") }
      #expect(said == [nil, "Bearer mF_9.B5f-4.1JqM", "Bearer mF_9.B5f-4.1JqM"])
      #expect(server.connectionCount == 1)
    }
  }

  /// A token that opened the space and has expired is refused with `invalid_token`: the app may get a new one.
  @Test(.overHTTP1To3) func anExpiredTokenIsAskedForAgain() async throws {
    let valid = Mutex("first")
    try await withServer({ Self.protected(by: valid.withLock { $0 }, $0) }) { server in
      let delegate = CredentialDelegate { _ in (.useCredential, Self.token(valid.withLock { $0 })) }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      try await expectText("in", session.upload(for: request, from: Data("one".utf8)))
      valid.withLock { $0 = "second" }
      try await expectText("in", session.upload(for: request, from: Data("two".utf8)))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1])
      #expect(delegate.asked.all.map { $0.proposedCredential?.password } == [nil, "first"])
      let said = server.requests.map { $0.value("Authorization") }
      #expect(said == [nil, "Bearer first", "Bearer first", "Bearer second"])
      #expect(server.requests.map(\.body.text) == ["one", "one", "two", "two"])
    }
  }

  /// A delegate that answers every challenge with its password, and texts that are no token68 (RFC 6750 §2.1).
  @Test(
    .overHTTP1To3,
    arguments: [
      ("ann", "hunter2"), ("", ""), ("", "two words"), ("", "a\r\nX-Mine: b"), ("", "=="), ("", "na\u{EF}ve"),
    ])
  func aCredentialThatIsNoTokenIsNotSent(user: String, password: String) async throws {
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let delegate = CredentialDelegate.user(user, password)
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      let loaded = try await session.data(from: server.url())
      expectStatus(401, loaded)
      expectText("no", loaded)
      #expect(delegate.asked.all.count == 1 && server.requests.map { $0.value("Authorization") } == [nil])
    }
  }

  /// Without an answer of the app: neither the password of the URL nor one of the storage is a token.
  @Test func passwordsThatTheSessionKnowsAreNotSent() async throws {
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      let space = URLProtectionSpace(
        host: server.url().host ?? "", port: server.port, protocol: "http", realm: "api",
        authenticationMethod: NSURLAuthenticationMethodBearer)
      session.configuration.urlCredentialStorage?.setDefaultCredential(
        URLCredential(user: "ann", password: "hunter2", persistence: .forSession), for: space)
      try await expectStatus(401, session.data(from: server.url()))
      try await expectStatus(401, session.data(from: server.url().naming("ann", "hunter2")))
      #expect(server.requests.map { $0.value("Authorization") } == [nil, nil])
    }
  }

  /// A token in the storage answers without the app, for the rest of the session too.
  @Test func aTokenOfTheStorageAnswers() async throws {
    try await withServer({ Self.protected(by: "t", $0) }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      let space = URLProtectionSpace(
        host: server.url().host ?? "", port: server.port, protocol: "http", realm: "api",
        authenticationMethod: NSURLAuthenticationMethodBearer)
      session.configuration.urlCredentialStorage?.setDefaultCredential(Self.token("t"), for: space)
      for _ in 0..<2 { try await expectText("in", session.data(from: server.url())) }
      #expect(server.requests.map { $0.value("Authorization") } == [nil, "Bearer t", "Bearer t"])
    }
  }

  /// An app that has a password only is asked for it first; one that rejects that space is asked for the token.
  @Test(.overHTTP1To3) func basicIsAskedForBeforeBearer() async throws {
    try await withServer({ request in
      request.value("Authorization") == "Bearer t"
        ? .ok("in") : .unauthorized(Self.challenge, #"Basic realm="people""#, body: "no")
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodBearer
          ? (.useCredential, Self.token("t", persistence: .none)) : (.rejectProtectionSpace, nil)
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      let methods = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodBearer]
      #expect(delegate.asked.all.map(\.protectionSpace.authenticationMethod) == methods)
      #expect(server.requests.map { $0.value("Authorization") } == [nil, "Bearer t"])
    }
  }

  /// A redirect leads to another server, and another challenge of the same words: the token is not sent there.
  @Test(.overHTTP1To3) func anotherOriginGetsNoToken() async throws {
    let other = try await LoopbackServer.start(tls: WireVersion.current.tls()) { _ in
      .unauthorized(Self.challenge, body: "other")
    }
    try await withServer({ request in
      request.value("Authorization") == "Bearer t"
        ? .redirect(to: other.url("/there").absoluteString) : .unauthorized(Self.challenge)
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.port == server.port
          ? (.useCredential, Self.token("t")) : (.performDefaultHandling, nil)
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectText("other", session.data(from: server.url("/start"))) }
      #expect(other.requests.map { $0.value("Authorization") } == [nil, nil])
    }
    await other.shutdown()
  }

  /// A server that refuses each token asks a bounded number of times.
  @Test func aTokenThatIsRefusedAgainAndAgainIsGivenUp() async throws {
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let delegate = CredentialDelegate { _ in (.useCredential, Self.token("t")) }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("no", session.data(from: server.url()))
      #expect((3...10).contains(server.requests.count))
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }
}

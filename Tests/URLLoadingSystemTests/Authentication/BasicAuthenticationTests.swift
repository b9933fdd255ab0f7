import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Loads from servers that want a user name and a password in the clear (RFC 7617).
@Suite struct BasicAuthenticationTests {
  private static let challenge = #"Basic realm="here", charset="UTF-8""#

  private static func secret(_ request: RecordedRequest, _ user: String = "ann", _ password: String = "p:ä") -> Reply {
    request.value("Authorization") == basic(user, password) ? .ok("in") : .unauthorized(challenge)
  }

  private func text(_ loaded: (Data, URLResponse)) -> String { String(decoding: loaded.0, as: UTF8.self) }

  private func status(_ loaded: (Data, URLResponse)) -> Int? { (loaded.1 as? HTTPURLResponse)?.statusCode }

  @Test(.overHTTP1To3) func theDelegateIsAskedOnceAndTheNextRequestSaysItUnasked() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = CredentialDelegate.user("ann", "p:ä")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/a/b")))
      try await expectText("in", session.data(from: server.url("/a/c/d")))
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      #expect(server.connectionCount == 1)
      let challenge = try #require(delegate.asked.all.first)
      #expect(delegate.asked.all.count == 1)
      #expect(challenge.previousFailureCount == 0 && challenge.proposedCredential == nil && challenge.error == nil)
      #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
      let space = challenge.protectionSpace
      #expect(space.realm == "here" && space.host == server.url().host && space.port == server.port && !space.isProxy())
      #expect(space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic)
      #expect(session.configuration.urlCredentialStorage?.defaultCredential(for: space)?.user == "ann")
    }
  }

  /// RFC 7617 §2.2: a path outside the folder of the one that was challenged may be in another space.
  @Test func aPathOutsideTheFolderIsAskedFirst() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(.user("ann", "p:ä"))
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url("/a/b"))
      try await expectText("in", session.data(from: server.url("/other")))
      // The space turned out to be the same, so the delegate was not asked again.
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, false, true])
    }
  }

  @Test(.overHTTP1To3) func aWrongPasswordIsAskedForAgain() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = CredentialDelegate { challenge in
        let password = challenge.previousFailureCount < 2 ? "wrong" : "p:ä"
        return (.useCredential, URLCredential(user: "ann", password: password, persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1, 2])
      #expect(server.requests.count == 4)
    }
  }

  @Test func aDelegateThatRepeatsAWrongPasswordGetsTheResponse() async throws {
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let session = URLSession.answering(.user("ann", "wrong"))
      defer { session.invalidateAndCancel() }
      let loaded = try await session.data(from: server.url())
      #expect(status(loaded) == 401 && text(loaded) == "no")
      #expect((3...10).contains(server.requests.count))
      // What did not open the space is not kept.
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }

  static let refusals: [(disposition: URLSession.AuthChallengeDisposition, code: URLError.Code?)] = [
    (.performDefaultHandling, nil), (.rejectProtectionSpace, nil), (.useCredential, nil),
    (.cancelAuthenticationChallenge, .cancelled),
  ]

  @Test(.overHTTP1To3, arguments: refusals.indices) func noCredentialMeansTheResponse(_ row: Int) async throws {
    let (disposition, code) = Self.refusals[row]
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let session = URLSession.answering(CredentialDelegate { _ in (disposition, nil) })
      defer { session.invalidateAndCancel() }
      if let code {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
        #expect(error?.code == code && error?.failingURL == server.url())
      } else {
        let loaded = try await session.data(from: server.url())
        #expect(status(loaded) == 401 && text(loaded) == "no")
      }
      #expect(server.requests.count == 1)
    }
  }

  @Test func aRejectedSpaceLeadsToTheNextOne() async throws {
    try await withServer({ request in
      request.value("Authorization") == basic("bob", "2")
        ? .ok("in") : .unauthorized(#"Strange x=1, Basic realm="one""#, #"Basic realm="two", Basic"#)
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.realm == "two"
          ? (.useCredential, URLCredential(user: "bob", password: "2", persistence: .none))
          : (.rejectProtectionSpace, nil)
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.protectionSpace.realm) == ["one", "two"])
      // A credential for one request is neither kept nor sent again.
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      _ = try await session.data(from: server.url())
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, false, true])
    }
  }

  @Test(arguments: [nil, "Strange x=1", "Negotiate-ish abc", "=,,="])
  func aResponseWithoutAnUsableChallengeRaisesNone(_ value: String?) async throws {
    try await withServer({ _ in
      .status(401, fields: value.map { [("WWW-Authenticate", $0)] } ?? [], body: "no")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "1")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url()))
      #expect(delegate.asked.all.isEmpty && server.requests.count == 1)
    }
  }

  @Test func theCredentialInTheURLIsUsedAndStaysOutOfTheStorage() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      var parts = try #require(URLComponents(url: server.url("/a"), resolvingAgainstBaseURL: true))
      (parts.user, parts.password) = ("ann", "p:ä")
      let url = try #require(parts.url)
      for _ in 0..<2 { try await expectText("in", session.data(from: url)) }
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
      // Another user of the same URL is not mistaken for this one.
      parts.user = "bob"
      let other = try #require(parts.url)
      try await expectStatus(401, session.data(from: other))
      #expect(server.requests.last?.value("Authorization") == basic("bob", "p:ä"))
    }
  }

  @Test func aUserNameInTheURLIsProposed() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = CredentialDelegate { challenge in
        let user = challenge.proposedCredential?.user ?? ""
        return (.useCredential, URLCredential(user: user, password: "p:ä", persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      var parts = try #require(URLComponents(url: server.url("/a"), resolvingAgainstBaseURL: true))
      parts.user = "ann"
      let url = try #require(parts.url)
      try await expectText("in", session.data(from: url))
      #expect(delegate.asked.all.map { $0.proposedCredential?.hasPassword } == [false])
    }
  }

  /// A credential that opened the space before, and is sent unasked, is among them.
  @Test func aRefusedCredentialIsShownWithTheNextQuestion() async throws {
    let password = Mutex("1")
    try await withServer({ request in
      request.value("Authorization") == basic("ann", password.withLock { $0 })
        ? .ok("in") : .unauthorized(#"Basic realm="here""#)
    }) { server in
      let delegate = CredentialDelegate { challenge in
        let next = challenge.proposedCredential?.password == "1" ? "2" : "1"
        return (.useCredential, URLCredential(user: "ann", password: next, persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      password.withLock { $0 = "2" }
      try await expectText("in", session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1])
      #expect(delegate.asked.all.map { $0.proposedCredential?.password } == [nil, "1"])
    }
  }

  /// A request that carries the credential of the space around another one is asked for that of the inner one, which says
  /// nothing about the first.
  @Test(
    .overHTTP1To3,
    arguments: [
      (["/a", "/inner/a", "/b", "/inner/b", "/c"], ["outer", "inner"], 7),
      // The inner one is asked for once more, because the outer one was let in last and covers it.
      (["/inner/a", "/a", "/inner/b", "/inner/c", "/b"], ["inner", "outer"], 8),
    ])
  func theCredentialsOfTwoSpacesAreBothKept(paths: [String], realms: [String], requests: Int) async throws {
    try await withServer({ request in
      let isInner = request.target.hasPrefix("/inner/")
      return request.value("Authorization") == (isInner ? basic("bob", "2") : basic("ann", "1"))
        ? .ok("in") : .unauthorized("Basic realm=\(isInner ? "inner" : "outer")")
    }) { server in
      let delegate = CredentialDelegate { challenge in
        let (user, password) = challenge.protectionSpace.realm == "inner" ? ("bob", "2") : ("ann", "1")
        return (.useCredential, URLCredential(user: user, password: password, persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for path in paths { try await expectText("in", session.data(from: server.url(path))) }
      #expect(delegate.asked.all.map(\.protectionSpace.realm) == realms)
      // The credential that the session sent by itself is no answer of the app.
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 0])
      #expect(server.requests.count == requests)
    }
  }

  @Test(.overHTTP1To3) func theStoragesDefaultIsUsedWhereNoDelegateAnswers() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let storage = URLCredentialStorage()
      let session = URLSession.answering(nil) { $0.urlCredentialStorage = storage }
      defer { session.invalidateAndCancel() }
      let space = URLProtectionSpace(
        host: server.url().host ?? "", port: server.port, protocol: server.url().scheme, realm: "here",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      let credential = URLCredential(user: "ann", password: "p:ä", persistence: .forSession)
      storage.setDefaultCredential(credential, for: space)
      try await expectText("in", session.data(from: server.url()))
      try await expectText("in", session.data(from: server.url()))
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      // What the app takes away is not sent any more.
      storage.remove(credential, for: space)
      try await expectStatus(401, session.data(from: server.url()))
      #expect(server.requests.last?.value("Authorization") == nil)
    }
  }

  @Test func aSessionWithoutAStorageAsksEachTime() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = CredentialDelegate.user("ann", "p:ä")
      let session = URLSession.answering(delegate) { $0.urlCredentialStorage = nil }
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectText("in", session.data(from: server.url())) }
      #expect(delegate.asked.all.count == 2)
    }
  }

  @Test(.overHTTP1To3) func theBodyIsSentAgain() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(.user("ann", "p:ä", .none))
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      try await expectText("in", session.data(for: request))
      try await expectText("in", session.upload(for: request, from: Data("upload".utf8)))
      #expect(server.requests.map(\.body.text) == ["body", "body", "upload", "upload"])
    }
  }

  @Test(.overHTTP1To3) func aStreamIsAskedForAgain() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = CredentialDelegate(stream: { InputStream(data: Data("stream".utf8)) }) { _ in
        (.useCredential, URLCredential(user: "ann", password: "p:ä", persistence: .forSession))
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      request.httpBodyStream = InputStream(data: Data("stream".utf8))
      try await expectText("in", session.data(for: request))
      #expect(server.requests.map(\.body.text) == ["stream", "stream"])
    }
  }

  /// A server that leads the session to another one as a user of its choice does not have later requests made as that user.
  @Test(.overHTTP1To3, arguments: [false, true])
  func aUserWhomARedirectNamesIsNotKept(isAsked: Bool) async throws {
    let other = try await LoopbackServer.start(tls: WireVersion.current.tls()) { request in
      request.value("Authorization") == basic("mallory", "2")
        ? .ok("trap") : .unauthorized(Self.challenge, body: "who?")
    }
    let trap = try other.url("/there").naming("mallory", "2").absoluteString
    try await withServer({ _ in .redirect(to: trap) }) { server in
      // Also where the app leaves the proposal as it is, or takes it for its answer.
      let delegate = CredentialDelegate { challenge in
        let proposed = challenge.proposedCredential
        return (proposed == nil ? .performDefaultHandling : .useCredential, proposed)
      }
      let session = URLSession.answering(isAsked ? delegate : nil)
      defer { session.invalidateAndCancel() }
      try await expectText("trap", session.data(from: server.url("/start")))
      try await expectText("who?", session.data(from: other.url("/there")))
      #expect(other.requests.map { $0.value("Authorization") } == [nil, basic("mallory", "2"), nil])
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
    try await other.expectNoOpenConnections()
    await other.shutdown()
  }

  /// A redirect to another path takes the user of the URL along, whom the app has named.
  @Test(.overHTTP1To3) func theUserOfAURLIsKeptBehindARedirectOfItsServer() async throws {
    try await withServer({ $0.target == "/start" ? .redirect(to: "/a") : Self.secret($0) }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/start").naming("ann", "p:ä")))
      try await expectText("in", session.data(from: server.url("/b")))
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, false, true, true])
    }
  }

  /// Another host, and another port of the same host, get nothing.
  @Test func noOtherOriginGetsTheCredential() async throws {
    let other = try await LoopbackServer.start { _ in .ok("other") }
    try await withServer({ request in
      guard request.value("Authorization") == basic("ann", "p:ä") else { return .unauthorized(Self.challenge) }
      return request.target == "/away" ? .redirect(to: other.url("/there").absoluteString) : .redirect(to: "/away")
    }) { server in
      let session = URLSession.answering(.user("ann", "p:ä"))
      defer { session.invalidateAndCancel() }
      try await expectText("other", session.data(from: server.url("/start")))
      #expect(server.requests.map { $0.value("Authorization") != nil } == [false, true, true])
      #expect(other.requests.map { $0.value("Authorization") } == [nil])
    }
    await other.shutdown()
  }

  /// Answers each of two users by the name.
  private static func annOrBob(_ request: RecordedRequest) -> Reply {
    switch request.value("Authorization") {
    case basic("ann", "1"): .ok("ann")
    case basic("bob", "2"): .ok("bob")
    default: .unauthorized(challenge)
    }
  }

  /// Two users at once: none gets the other's answer.
  @Test(.overHTTP1To3) func twoSessionsDoNotShareCredentials() async throws {
    try await withServer({ Self.annOrBob($0) }) { server in
      let sessions = [URLSession.answering(.user("ann", "1")), URLSession.answering(.user("bob", "2"))]
      defer { for session in sessions { session.invalidateAndCancel() } }
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<40 {
          group.addTask {
            let (data, _) = try await sessions[number % 2].data(from: server.url("/\(number)"))
            return (number % 2, String(decoding: data, as: UTF8.self))
          }
        }
        for try await (user, answer) in group { #expect(answer == ["ann", "bob"][user]) }
      }
    }
  }

  /// Two users at once on one host, and in one session: each URL gets the answer of its own user.
  @Test(.overHTTP1To3) func twoUsersOfOneSessionGetTheirOwnAnswers() async throws {
    try await withServer({ Self.annOrBob($0) }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      let users = [("ann", "1"), ("bob", "2")]
      try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for number in 0..<40 {
          let url = try server.url("/a/\(number)").naming(users[number % 2].0, users[number % 2].1)
          group.addTask {
            let (data, _) = try await session.data(from: url)
            return (number % 2, String(decoding: data, as: UTF8.self))
          }
        }
        for try await (user, answer) in group { #expect(answer == users[user].0) }
      }
    }
  }

  static let credentials = [
    ("ann", "a:b:c"), ("ann", ":"), ("", "p"), ("ann", ""), ("", ""), ("Ünal", "naïve ☂"), ("ann b", " sp ace "),
    ("100%", "%41"), (#"a"b\c"#, #"d"e\f"#),
  ]

  @Test(.overHTTP1To3, arguments: credentials)
  func everyPartArrivesAsItIs(user: String, password: String) async throws {
    try await withServer({ Self.secret($0, user, password) }) { server in
      let session = URLSession.answering(.user(user, password))
      defer { session.invalidateAndCancel() }
      for _ in 0..<2 { try await expectText("in", session.data(from: server.url("/a"))) }
      #expect(
        server.requests.map { $0.value("Authorization") } == [nil] + Array(repeating: basic(user, password), count: 2))
    }
  }

  /// RFC 7617 §2: a colon would end the user name early, and control characters are not allowed.
  @Test(arguments: [("a:b", "p"), ("ann", "p\r\nX: y"), ("ann\n", "p"), ("ann", "p\u{7F}"), ("ann", "p\0")])
  func aCredentialThatBasicCanNotCarryIsNotSent(user: String, password: String) async throws {
    try await withServer({ _ in .unauthorized(Self.challenge, body: "no") }) { server in
      let delegate = CredentialDelegate.user(user, password)
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("no", session.data(from: server.url()))
      #expect(delegate.asked.all.count == 1)
      #expect(server.requests.map { $0.value("Authorization") } == [nil])
    }
  }

  @Test func theAppsOwnFieldIsLeftAlone() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let session = URLSession.answering(.user("ann", "p:ä"))
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url())
      var request = URLRequest(url: server.url())
      request.setValue("Bearer mine", forHTTPHeaderField: "Authorization")
      _ = try await session.data(for: request)
      #expect(server.requests[2].value("Authorization") == "Bearer mine")
    }
  }

  /// RFC 9110 §11.7.2, also where the session knows no proxy at all.
  @Test(arguments: [true, false]) func theAppsFieldForAProxyIsNotToldToTheServer(usesSystem: Bool) async throws {
    try await withServer({ _ in .ok("in") }) { server in
      let session = URLSession.answering(nil) {
        if !usesSystem { $0.connectionProxyDictionary = [:] }
        $0.httpAdditionalHeaders = ["proxy-authorization": "Basic own"]
      }
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      try await expectText("in", session.data(for: request))
      request.setValue("Basic mine", forHTTPHeaderField: "Proxy-Authorization")
      try await expectText("in", session.data(for: request))
      #expect(server.requests.allSatisfy { $0.value("Proxy-Authorization") == nil })
    }
  }

  @Test func metricsShowBothRequestsAndNoSecret() async throws {
    try await withServer({ Self.secret($0) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      var parts = try #require(URLComponents(url: server.url("/a"), resolvingAgainstBaseURL: true))
      (parts.user, parts.password) = ("ann", "p:ä")
      session.dataTask(with: try #require(parts.url)).resume()
      try await delegate.done.wait(within: patience)
      let transactions = try #require(delegate.metrics.all.first).transactionMetrics
      #expect(transactions.map { ($0.response as? HTTPURLResponse)?.statusCode } == [401, 200])
      #expect(transactions.allSatisfy { $0.request.value(forHTTPHeaderField: "Authorization") == nil })
    }
  }
}

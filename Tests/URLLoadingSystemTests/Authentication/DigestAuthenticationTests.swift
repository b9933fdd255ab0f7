import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// Loads from servers that want a proof of the password (RFC 7616).
@Suite struct DigestAuthenticationTests {
  /// Judges what a client says as RFC 7616 §3.4 computes it, and never takes a count twice.
  private final class Judge: Sendable {
    struct State {
      var nonce = "first"
      var counts: Set<String> = []
    }

    let state = Mutex(State())
    private let hash: DigestHash
    private let algorithm: String
    private let isSession: Bool

    init(_ hash: DigestHash, _ algorithm: String) {
      self.hash = hash
      self.algorithm = algorithm
      isSession = algorithm.hasSuffix("-sess")
    }

    func challenge(_ more: String = "") -> String {
      let nonce = state.withLock { $0.nonce }
      return #"Digest realm="here", nonce="\#(nonce)", opaque="o\"p", qop="auth", algorithm=\#(algorithm)"# + more
    }

    private func hex(_ text: String) -> String { hash.hex(Array(text.utf8)) }

    /// The parameters of a right answer; nil for any other.
    func parameters(of request: RecordedRequest) -> FieldParameters? {
      guard let value = request.value("Authorization"),
        let parameters = AuthenticationChallenge.parse([value]).first?.parameters,
        let nonce = parameters["nonce"], let count = parameters["nc"], let cnonce = parameters["cnonce"],
        state.withLock({ $0.nonce == nonce && $0.counts.insert(nonce + count).inserted }),
        parameters["username"] == "ann", parameters["uri"] == request.target, parameters["opaque"] == "o\"p"
      else { return nil }
      let end = "\(nonce):\(count):\(cnonce):auth:\(hex("\(request.method):\(request.target)"))"
      return parameters["response"] == hex("\(secret(nonce, cnonce)):\(end)") ? parameters : nil
    }

    private func secret(_ nonce: String, _ cnonce: String) -> String {
      let secret = hex("ann:here:pass")
      return isSession ? hex("\(secret):\(nonce):\(cnonce)") : secret
    }

    /// The Authentication-Info of a server that knows the password.
    func information(_ parameters: FieldParameters, for request: RecordedRequest, _ more: String = "") -> String {
      let (nonce, count) = (parameters["nonce"] ?? "", parameters["nc"] ?? "")
      let cnonce = parameters["cnonce"] ?? ""
      let proof = hex(
        "\(secret(nonce, cnonce)):\(nonce):\(count):\(cnonce):auth:\(hex(":\(request.target)"))")
      return #"rspauth="\#(proof)", cnonce="\#(cnonce)", nc=\#(count), qop=auth"# + more
    }
  }

  @Test(
    .overHTTP1To3,
    arguments: [
      (DigestHash.md5, "MD5"), (.md5, "MD5-sess"), (.sha256, "SHA-256"), (.sha256, "SHA-256-sess"),
      (.sha512_256, "SHA-512-256"),
    ])
  func everyAlgorithmIsProven(_ hash: DigestHash, _ algorithm: String) async throws {
    // A session's proof depends on the first client nonce, which this judge does not keep.
    let judge = Judge(hash, algorithm)
    try await withServer({ request in
      guard let parameters = judge.parameters(of: request) else { return .unauthorized(judge.challenge()) }
      return .ok("in", fields: [("Authentication-Info", judge.information(parameters, for: request))])
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/a?b=c")))
      let space = try #require(delegate.asked.all.first).protectionSpace
      #expect(space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest && space.realm == "here")
      #expect(space.receivesCredentialSecurely)
      guard !algorithm.hasSuffix("-sess") else { return }
      // The next request counts on, without being asked.
      try await expectText("in", session.data(from: server.url("/elsewhere")))
      #expect(server.requests.count == 3 && delegate.asked.all.count == 1)
    }
  }

  @Test func aStaleNonceIsReplacedWithoutAsking() async throws {
    let judge = Judge(.sha256, "SHA-256")
    try await withServer({ request in
      if judge.parameters(of: request) != nil { return .ok("in") }
      let isStale = request.value("Authorization") != nil
      return .unauthorized(judge.challenge(isStale ? ", stale=true" : ""))
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url())
      judge.state.withLock { $0.nonce = "second" }
      try await expectText("in", session.data(from: server.url()))
      #expect(delegate.asked.all.count == 1 && server.requests.count == 4)
    }
  }

  @Test func theNextNonceIsUsed() async throws {
    let judge = Judge(.md5, "MD5")
    try await withServer({ request in
      guard let parameters = judge.parameters(of: request) else { return .unauthorized(judge.challenge()) }
      let information = judge.information(parameters, for: request, #", nextnonce="second""#)
      judge.state.withLock { $0.nonce = "second" }
      return .ok("in", fields: [("Authentication-Info", information)])
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      for _ in 0..<3 { try await expectText("in", session.data(from: server.url())) }
      #expect(server.requests.count == 4)
    }
  }

  /// A server that does not know the password can't show that it does.
  @Test func aWrongAuthenticationInfoFailsTheLoad() async throws {
    let judge = Judge(.md5, "MD5")
    try await withServer({ request in
      judge.parameters(of: request) == nil
        ? .unauthorized(judge.challenge())
        : .ok("in", fields: [("Authentication-Info", #"rspauth="00000000000000000000000000000000", qop=auth"#)])
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .userAuthenticationRequired)
      #expect(error.map { !"\($0)".contains("pass ") } == true)
    }
  }

  /// The strongest is answered, whatever the order, and the password never goes out in the clear.
  @Test func digestComesBeforeBasic() async throws {
    let judge = Judge(.sha256, "SHA-256")
    try await withServer({ request in
      judge.parameters(of: request) != nil
        ? .ok("in")
        : .unauthorized(
          #"Basic realm="here""#, #"Digest realm="here", nonce="x", qop="auth", algorithm=MD5"#, judge.challenge())
    }) { server in
      let session = URLSession.answering(.user("ann", "pass"))
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url()))
      #expect(server.requests.allSatisfy { $0.value("Authorization")?.hasPrefix("Basic") != true })
    }
  }

  /// A server that asked for Digest and now asks for Basic has another space: the app is asked anew.
  @Test func aWeakerSchemeIsAnotherSpace() async throws {
    let judge = Judge(.md5, "MD5")
    let isWeak = Atomic(false)
    try await withServer({ request in
      if isWeak.load(ordering: .relaxed) { return .unauthorized(#"Basic realm="here""#, body: "no") }
      return judge.parameters(of: request) != nil ? .ok("in") : .unauthorized(judge.challenge())
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPDigest
          ? (.useCredential, URLCredential(user: "ann", password: "pass", persistence: .forSession))
          : (.performDefaultHandling, nil)
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      _ = try await session.data(from: server.url())
      isWeak.store(true, ordering: .relaxed)
      try await expectText("no", session.data(from: server.url()))
      #expect(server.requests.allSatisfy { $0.value("Authorization")?.hasPrefix("Basic") != true })
      #expect(delegate.asked.all.count == 2)
    }
  }

  /// Each realm has a proof of its own, also where the user and the password are the same.
  @Test(.overHTTP1To3) func twoRealmsWithOneUserAreAskedForOnceEach() async throws {
    try await withServer({ request in
      let realm = request.target.hasPrefix("/b/") ? "b" : "a"
      let answered = request.value("Authorization").flatMap { AuthenticationChallenge.parse([$0]).first?.realm }
      return answered == realm ? .ok("in") : .unauthorized("Digest realm=\(realm), nonce=n, qop=auth")
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      for path in ["/a/1", "/b/1", "/a/2", "/b/2"] {
        try await expectText("in", session.data(from: server.url(path)))
      }
      #expect(delegate.asked.all.map(\.protectionSpace.realm) == ["a", "b"])
    }
  }

  /// A refused answer to one scheme counts when the app is asked about another.
  @Test func failuresOfOtherSchemesAreCounted() async throws {
    try await withServer({ request in
      request.value("Authorization") == nil
        ? .unauthorized("Digest realm=here, nonce=n, qop=auth") : .unauthorized("Basic realm=here", body: "no")
    }) { server in
      let delegate = CredentialDelegate { challenge in
        challenge.previousFailureCount == 0
          ? (.useCredential, URLCredential(user: "ann", password: "pass", persistence: .forSession))
          : (.performDefaultHandling, nil)
      }
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("no", session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.previousFailureCount) == [0, 1])
      #expect(server.requests.count == 2)
    }
  }

  /// A server that takes each count once would refuse a request whose count another one has used.
  @Test(.overHTTP1To3) func requestsAtTheSameTimeNeverUseACountTwice() async throws {
    let judge = Judge(.sha256, "SHA-256")
    try await withServer({ request in
      judge.parameters(of: request) != nil ? .ok("in") : .unauthorized(judge.challenge())
    }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/first")))
      try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in 0..<20 {
          group.addTask {
            let (_, response) = try await session.data(from: server.url("/\(number)"))
            return (response as? HTTPURLResponse)?.statusCode
          }
        }
        for try await status in group { #expect(status == 200) }
      }
      #expect(server.requests.count == 22 && delegate.asked.all.count == 1)
    }
  }

  /// A nonce that was used is no fresh one, whatever the server says of the old one: the answer is a refusal.
  @Test func aStaleChallengeWithTheSameNonceIsARefusal() async throws {
    let challenge = #"Digest realm="here", nonce="always", qop="auth", stale=true"#
    try await withServer({ _ in .unauthorized(challenge, body: "no") }) { server in
      let delegate = CredentialDelegate.user("ann", "pass")
      let session = URLSession.answering(delegate)
      defer { session.invalidateAndCancel() }
      try await expectStatus(401, session.data(from: server.url()))
      #expect(delegate.asked.all.map(\.previousFailureCount) == Array(0..<8))
      #expect(server.requests.count == 9)
      #expect(session.configuration.urlCredentialStorage?.allCredentials.isEmpty == true)
    }
  }

  /// The password of the URL was given for no scheme. A server that suddenly wants it in the clear may not be the server.
  @Test(.overHTTP1To3) func thePasswordOfTheURLIsNotSentForAWeakerSchemeThanBefore() async throws {
    let judge = Judge(.sha256, "SHA-256")
    let isWeak = Atomic(false)
    try await withServer({ request in
      if isWeak.load(ordering: .relaxed) { return .unauthorized(#"Basic realm="here""#, body: "no") }
      return judge.parameters(of: request) != nil ? .ok("in") : .unauthorized(judge.challenge())
    }) { server in
      let session = URLSession.answering(nil)
      defer { session.invalidateAndCancel() }
      let url = try server.url("/a").naming("ann", "pass")
      try await expectText("in", session.data(from: url))
      isWeak.store(true, ordering: .relaxed)
      try await expectText("no", session.data(from: url))
      #expect(server.requests.allSatisfy { $0.value("Authorization")?.hasPrefix("Basic") != true })
    }
  }

  // MARK: A weaker hash function than before

  /// A server that asked for SHA-256, or an attacker in its place, asks for MD5 in the same realm (RFC 7616 §5.8): the
  /// storage's credential is not used for it, and the app is asked.
  @Test(arguments: [true, false]) func aWeakerHashThanBeforeIsForTheAppToAllow(appAnswers: Bool) async throws {
    let strong = Judge(.sha256, "SHA-256")
    let weak = Judge(.md5, "MD5")
    weak.state.withLock { $0.nonce = "another" }
    try await withServer({ request in
      let judge = request.path.hasPrefix("/weak") ? weak : strong
      return judge.parameters(of: request) == nil ? .unauthorized(judge.challenge()) : .ok("in")
    }) { server in
      let storage = URLCredentialStorage()
      let port = server.port
      let host = try #require(server.url().host)
      let space = URLProtectionSpace(
        host: host, port: port, protocol: server.url().scheme, realm: "here",
        authenticationMethod: NSURLAuthenticationMethodHTTPDigest)
      storage.setDefaultCredential(
        URLCredential(user: "ann", password: "pass", persistence: .forSession), for: space)
      let delegate = CredentialDelegate { challenge in
        appAnswers
          ? (.useCredential, URLCredential(user: "ann", password: "pass", persistence: .forSession))
          : (.performDefaultHandling, nil)
      }
      let session = URLSession.answering(delegate) { $0.urlCredentialStorage = storage }
      defer { session.invalidateAndCancel() }
      try await expectText("in", session.data(from: server.url("/strong")))
      for number in 0..<3 {
        try await expectStatus(appAnswers ? 200 : 401, session.data(from: server.url("/weak\(number)")))
      }
      let said = server.requests.filter { $0.path.hasPrefix("/weak") }
        .compactMap { $0.value("Authorization") }.filter { $0.contains("algorithm=MD5") }
      #expect(said.isEmpty != appAnswers)
    }
  }
}

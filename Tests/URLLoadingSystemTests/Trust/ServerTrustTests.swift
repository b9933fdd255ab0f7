import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct ServerTrustTests {
  private func finish(_ session: URLSession, _ server: LoopbackServer) async throws {
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  // MARK: Without a delegate

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let identity: @Sendable (TestCertificates) -> TestCertificates.Identity
    /// nil: the server is believed.
    let code: URLError.Code?
    var host = "localhost"
  }

  static let cases = [
    Case(testDescription: "good", identity: \.localhost, code: nil),
    Case(testDescription: "good for an address", identity: \.localhost, code: nil, host: "127.0.0.1"),
    Case(testDescription: "through an intermediate", identity: \.chained, code: nil),
    Case(
      testDescription: "without the intermediate", identity: \.incompleteChain, code: .serverCertificateHasUnknownRoot),
    Case(testDescription: "expired", identity: \.expired, code: .serverCertificateHasBadDate),
    Case(testDescription: "not yet valid", identity: \.notYetValid, code: .serverCertificateNotYetValid),
    Case(testDescription: "another host's", identity: \.wrongHost, code: .serverCertificateUntrusted),
    Case(testDescription: "a wildcard for others", identity: \.wildcard, code: .serverCertificateUntrusted),
    Case(testDescription: "signed by itself", identity: \.selfSigned, code: .serverCertificateUntrusted),
    Case(testDescription: "another authority's", identity: \.foreign, code: .serverCertificateUntrusted),
    Case(
      testDescription: "for the name in the subject only", identity: \.commonNameOnly, code: .serverCertificateUntrusted
    ),
    Case(testDescription: "a client's", identity: \.clientForLocalhost, code: .serverCertificateUntrusted),
  ]

  @Test(arguments: cases) func eachFailureHasItsCode(_ test: Case) async throws {
    let certificates = try TestCertificates.shared()
    let server = try await LoopbackServer.start(tls: ServerTLS(test.identity(certificates))) { _ in .ok("secret") }
    let session = secureSession(trusting: certificates.authorityFile)
    let url = server.url("/", host: test.host)
    if let code = test.code {
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      #expect(error?.code == code, "\(error?.localizedDescription ?? "")")
      #expect(error?.failingURL == url)
      let trust = try #require(error?.failureURLPeerTrust)
      #expect(SecTrustGetCertificateCount(trust) >= 1)
      #expect((error?.userInfo["NSErrorPeerCertificateChainKey"] as? [SecCertificate])?.isEmpty == false)
      #expect(server.requests.isEmpty)
    } else {
      #expect(try await session.data(from: url).0 == Data("secret".utf8))
    }
    try await finish(session, server)
  }

  /// RFC 5861 §4 is about servers in trouble: a response that is stored hides no server that is not believed.
  @Test func noStoredResponseStandsInForAServerThatIsNotBelieved() async throws {
    let certificates = try TestCertificates.shared()
    let server = try await LoopbackServer.start(tls: ServerTLS(certificates.foreign)) { _ in .ok("secret") }
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    let url = server.url("/", host: "localhost")
    let fields = ["Cache-Control": "max-age=0, stale-if-error=3600"]
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
    let stored = CachedURLResponse(response: response, data: Data("stored".utf8))
    cache.storeCachedResponse(stored, for: URLRequest(url: url))
    let session = secureSession(trusting: certificates.authorityFile) { $0.urlCache = cache }
    defer { session.invalidateAndCancel() }
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
    #expect(error?.code == .serverCertificateUntrusted)
    await server.shutdown()
    let answer = try await session.data(from: url).0
    #expect(answer == Data("stored".utf8))
  }

  // MARK: With a delegate

  @Test(arguments: [TLSEdition.tls12, .tls13]) func theDelegateIsAskedOnceAConnectionWithTheWholeChain(
    _ edition: TLSEdition
  ) async throws {
    let certificates = try TestCertificates.shared()
    let server = try await LoopbackServer.start(tls: edition.of(certificates.chained)) { _ in .ok("secret") }
    let delegate = ChallengeDelegate.accepting()
    let session = secureSession(delegate)
    for _ in 0..<3 { #expect(try await session.data(from: server.url()).0 == Data("secret".utf8)) }
    #expect(server.connectionCount == 1)
    let challenge = try #require(delegate.asked.all.first)
    #expect(delegate.asked.count == 1)
    let space = challenge.protectionSpace
    #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
    #expect(space.host == "127.0.0.1" && space.port == server.port && space.protocol == "https")
    #expect(space.realm == nil && challenge.previousFailureCount == 0 && challenge.proposedCredential == nil)
    let trust = try #require(space.serverTrust)
    let names = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.map { SecCertificateCopySubjectSummary($0) }
    #expect(names == ["Loopback chained-leaf", "Loopback Test Intermediate"])
    try await finish(session, server)
  }

  static let refusals: [(URLSession.AuthChallengeDisposition, URLError.Code)] = [
    (.performDefaultHandling, .serverCertificateHasUnknownRoot), (.cancelAuthenticationChallenge, .cancelled),
    (.rejectProtectionSpace, .serverCertificateUntrusted), (.useCredential, .serverCertificateHasUnknownRoot),
  ]

  /// A `.useCredential` without a credential leaves the decision to the rules.
  @Test(arguments: refusals.indices) func everyDispositionCounts(_ index: Int) async throws {
    let (disposition, code) = Self.refusals[index]
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let session = secureSession(ChallengeDelegate.answering(disposition))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == code)
    #expect(server.requests.isEmpty)
    try await finish(session, server)
  }

  @Test func theRulesMayAcceptToo() async throws {
    let certificates = try TestCertificates.shared()
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let session = secureSession(
      ChallengeDelegate.answering(.performDefaultHandling), trusting: certificates.authorityFile)
    #expect(try await session.data(from: server.url()).0 == Data("secret".utf8))
    try await finish(session, server)
  }

  private final class TaskLevel: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
      (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }
  }

  @Test func aTasksOwnDelegateAnswersAsync() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let session = secureSession()
    let (data, _) = try await session.data(from: server.url(), delegate: TaskLevel())
    #expect(data == Data("secret".utf8))
    try await finish(session, server)
  }

  /// The answer takes longer than the request may be idle.
  @Test func theDelegateMayThink() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let delegate = ChallengeDelegate { challenge, answer in
      let trust = challenge.protectionSpace.serverTrust
      DispatchQueue.global().asyncAfter(deadline: .now() + 8) {
        answer(.useCredential, trust.map { URLCredential(trust: $0) })
      }
    }
    let session = secureSession(delegate) { $0.timeoutIntervalForRequest = 6 }
    #expect(try await session.data(from: server.url()).0 == Data("secret".utf8))
    try await finish(session, server)
  }

  /// The load that was asked goes away: whoever waits for the host starts over and is asked itself.
  @Test func aQuestionThatNobodyWaitsForIsDropped() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let answers = Recorder<ChallengeDelegate.Answer>()
    let delegate = ChallengeDelegate { _, answer in answers.record(answer) }
    let session = secureSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
    let first = session.dataTask(with: server.url("/first"))
    first.resume()
    _ = try await answers.next()
    async let second = session.data(from: server.url("/second"))
    first.cancel()
    let answer = try await answers.next()
    let trust = try #require(delegate.asked.all.last?.protectionSpace.serverTrust)
    answer(.useCredential, URLCredential(trust: trust))
    #expect(try await second.0 == Data("secret".utf8))
    #expect(server.requests.map(\.path) == ["/second"])
    try await finish(session, server)
  }

  /// A delegate that lets go of the handler has not answered: the load ends.
  @Test func anAnswerThatNeverComesEndsTheLoad() async throws {
    let server = try await LoopbackServer.start(tls: .localhost()) { _ in .ok("secret") }
    let session = secureSession(ChallengeDelegate { _, _ in })
    let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
    #expect(error?.code == .cancelled)
    try await finish(session, server)
  }
}

/// A version of TLS that a server insists on.
enum TLSEdition: Sendable, CaseIterable {
  case tls12, tls13

  func of(_ identity: TestCertificates.Identity) -> ServerTLS {
    var tls = ServerTLS(identity)
    tls.minimumVersion = self == .tls12 ? .tlsv12 : .tlsv13
    tls.maximumVersion = tls.minimumVersion
    return tls
  }
}

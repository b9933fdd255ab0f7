import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Questions of servers that the transfer service passes on to the app.
@Suite struct BackgroundEngineChallengesTests {
  private let service = FakeTransferService()

  /// Runs `body` with a session that has one task in the service.
  private func withTask(
    _ delegate: any URLSessionDelegate, storage: URLCredentialStorage = URLCredentialStorage(),
    url: String = "http://example.com/file", _ body: (URLSessionTask) async throws -> Void
  ) async throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "challenges-\(UUID().uuidString)")
    configuration.transferConnector = service
    configuration.urlCredentialStorage = storage
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let task = session.downloadTask(with: try #require(URL(string: url)))
    task.resume()
    _ = try await service.nextCreation()
    try await body(task)
    session.invalidateAndCancel()
  }

  private func question(
    _ task: URLSessionTask, _ number: UInt64 = 1, method: String = NSURLAuthenticationMethodHTTPBasic,
    failures: Int = 0, user: String? = nil, hasPassword: Bool? = nil, certificates: [Data]? = nil,
    host: String = "example.com"
  ) -> ServicePush {
    var space = ProtectionSpaceDescription(host: host, port: 443, authenticationMethod: method)
    space.scheme = "https"
    space.realm = "here"
    space.certificates = certificates
    return .challenge(
      ChallengeQuestion(
        session: "s", taskIdentifier: task.taskIdentifier, number: number, space: space,
        previousFailureCount: failures, response: ResponseSummary(url: "https://example.com/file", status: 401),
        proposedUser: user, hasProposedPassword: hasPassword))
  }

  private static let space = URLProtectionSpace(
    host: "example.com", port: 443, protocol: "https", realm: "here",
    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

  private func nextAnswer() async throws -> ChallengeAnswered {
    try await service.next { if case .answerChallenge(let answer) = $0 { answer } else { nil } }
  }

  static let answers: [(URLSession.AuthChallengeDisposition, URLCredential?, ChallengeAnswered.Disposition)] = [
    (
      .useCredential, URLCredential(user: "ann", password: "p", persistence: .forSession),
      .useCredential(.password(user: "ann", password: "p", persistence: 1))
    ),
    (.useCredential, nil, .useCredential(nil)), (.performDefaultHandling, nil, .performDefaultHandling),
    (.cancelAuthenticationChallenge, nil, .cancelAuthenticationChallenge),
    (.rejectProtectionSpace, nil, .rejectProtectionSpace),
  ]

  @Test(arguments: answers.indices) func theAnswerOfTheDelegateGoesToTheService(_ row: Int) async throws {
    let (disposition, credential, sent) = Self.answers[row]
    let delegate = CredentialDelegate { _ in (disposition, credential) }
    try await withTask(delegate) { task in
      service.push(question(task, 9, failures: 2))
      let answer = try await nextAnswer()
      #expect(answer.number == 9 && answer.disposition == sent)
      let challenge = try #require(delegate.asked.all.first)
      #expect(challenge.protectionSpace == Self.space && challenge.previousFailureCount == 2)
      #expect((challenge.failureResponse as? HTTPURLResponse)?.statusCode == 401)
      #expect(challenge.proposedCredential == nil)
    }
  }

  @Test func theUserThatTheServiceKnowsIsProposed() async throws {
    let delegate = CredentialDelegate {
      ($0.proposedCredential == nil ? .rejectProtectionSpace : .useCredential, $0.proposedCredential)
    }
    try await withTask(delegate) { task in
      service.push(question(task, user: "ann"))
      let answer = try await nextAnswer()
      #expect(answer.disposition == .useCredential(.password(user: "ann", password: nil, persistence: 0)))
      #expect(delegate.asked.all.first?.proposedCredential?.hasPassword == false)
    }
  }

  /// The app's storage stays in the app: its default credential goes to the service as an answer, once.
  @Test(arguments: [true, false]) func theStoragesDefaultAnswersWhereTheDelegateDoesNot(isAsked: Bool) async throws {
    let storage = URLCredentialStorage()
    storage.setDefaultCredential(URLCredential(user: "ann", password: "p", persistence: .forSession), for: Self.space)
    let asking = CredentialDelegate { _ in (.performDefaultHandling, nil) }
    try await withTask(isAsked ? asking : RecordingDelegate(), storage: storage) { task in
      service.push(question(task))
      let answer = try await nextAnswer()
      #expect(answer.disposition == .useCredential(.password(user: "ann", password: "p", persistence: 1)))
      if isAsked { #expect(asking.asked.all.first?.proposedCredential?.user == "ann") }
      service.push(question(task, 2, failures: 1))
      let second = try await nextAnswer()
      #expect(second.disposition == .performDefaultHandling)
    }
  }

  static let lost: [(user: String, hasPassword: Bool?, failures: Int, host: String, isKnown: Bool)] = [
    ("ann", false, 0, "example.com", true), ("bob", false, 0, "example.com", false),
    ("ann", true, 0, "example.com", false), ("ann", nil, 0, "example.com", false),
    ("ann", false, 1, "example.com", false), ("ann", false, 0, "evil.example", false),
  ]

  /// A service without a keychain loses the password of a URL when it ends. The app still has it, for its server alone.
  @Test(arguments: lost.indices) func thePasswordOfTheURLIsSaidAgain(_ row: Int) async throws {
    let (user, hasPassword, failures, host, isKnown) = Self.lost[row]
    try await withTask(RecordingDelegate(), url: "https://ann:p%C3%A4@example.com/file") { task in
      service.push(question(task, failures: failures, user: user, hasPassword: hasPassword, host: host))
      let answer = try await nextAnswer()
      // For this task alone: the URL's user is none of the session's.
      let known = ChallengeAnswered.Disposition.useCredential(.password(user: "ann", password: "pä", persistence: 0))
      #expect(answer.disposition == (isKnown ? known : .performDefaultHandling))
    }
  }

  /// Connections go to the session's method first, requests to the task's only.
  @Test(arguments: [
    (NSURLAuthenticationMethodServerTrust, "session"), (NSURLAuthenticationMethodClientCertificate, "session"),
    (NSURLAuthenticationMethodNTLM, "session"), (NSURLAuthenticationMethodNegotiate, "session"),
    (NSURLAuthenticationMethodHTTPBasic, "task"), (NSURLAuthenticationMethodHTTPDigest, "task"),
  ]) func theMethodDecidesWhichDelegateMethodIsAsked(method: String, level: String) async throws {
    let delegate = LevelDelegate()
    try await withTask(delegate) { task in
      service.push(question(task, method: method))
      _ = try await nextAnswer()
      #expect(delegate.levels.all == [level])
    }
  }

  @Test func aServerIsJudgedByItsCertificates() async throws {
    let certificate = Data([0x30, 0x03, 0x02, 0x01, 0x01])
    let delegate = TrustDelegate()
    try await withTask(delegate) { task in
      service.push(question(task, method: NSURLAuthenticationMethodServerTrust, certificates: [certificate]))
      let answer = try await nextAnswer()
      #expect(answer.disposition == .useCredential(.trust))
      #expect(delegate.chains.all == [[certificate]])
    }
  }

  /// The service gets the certificates and the key, and makes the same identity of them. No text of the message has the key.
  @Test func aClientCertificateGoesToTheService() async throws {
    let files = try TestCertificates.shared().client
    let identity = try SecIdentity(
      pemCertificate: Data(contentsOf: URL(fileURLWithPath: files.certificateFile)),
      pemPrivateKey: Data(contentsOf: URL(fileURLWithPath: files.keyFile)))
    let credential = URLCredential(
      identity: identity, certificates: [identity.certificate], persistence: .forSession)
    let delegate = CredentialDelegate { _ in (.useCredential, credential) }
    try await withTask(delegate) { task in
      service.push(question(task, method: NSURLAuthenticationMethodClientCertificate))
      guard case .useCredential(let answered?) = try await nextAnswer().disposition,
        case .certificate(let identity, let chain)? = answered.clientCertificate?.kind
      else {
        Issue.record("no certificate")
        return
      }
      #expect(URLCredential(identity: identity, certificates: chain, persistence: .forSession).kind == credential.kind)
      #expect("\(answered)" == "client certificate, chain of 2")
    }
  }

  @Test func aDelegateWithoutTheMethodSaysSo() async throws {
    try await withTask(RecordingDelegate()) { task in
      service.push(question(task, method: NSURLAuthenticationMethodServerTrust, certificates: [Data([1])]))
      let answer = try await nextAnswer()
      #expect(answer.disposition == .isLeftOut)
    }
  }

  /// It says nothing about the delegate, which may judge the connections of other tasks.
  @Test func aQuestionOfATaskThatIsNotKnownIsLeftToTheRules() async throws {
    try await withTask(TrustDelegate()) { task in
      var space = ProtectionSpaceDescription(
        host: "example.com", port: 443, authenticationMethod: NSURLAuthenticationMethodServerTrust)
      space.certificates = [Data([1])]
      let number = task.taskIdentifier + 1
      service.push(.challenge(ChallengeQuestion(session: "s", taskIdentifier: number, number: 5, space: space)))
      let answer = try await nextAnswer()
      #expect(answer.number == 5 && answer.disposition == .performDefaultHandling)
    }
  }

  /// The service asks again over the next connection, so an answer to the earlier question is not sent.
  @Test func aQuestionEndsWithItsConnection() async throws {
    let delegate = LateDelegate()
    try await withTask(delegate) { task in
      service.push(question(task, 1))
      let first = try await delegate.handlers.next()
      service.drop()
      _ = try await service.next { if case .attach = $0 { true } else { nil } }
      _ = try await service.next { if case .startDelivery = $0 { true } else { nil } }
      first(.cancelAuthenticationChallenge, nil)
      service.push(question(task, 2))
      let second = try await delegate.handlers.next()
      second(.rejectProtectionSpace, nil)
      let answer = try await nextAnswer()
      #expect(answer.number == 2 && answer.disposition == .rejectProtectionSpace)
    }
  }
}

private final class LevelDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  let levels = Recorder<String>()

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    levels.record("session")
    return (.performDefaultHandling, nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    levels.record("task")
    return (.performDefaultHandling, nil)
  }
}

private final class TrustDelegate: NSObject, URLSessionDelegate, Sendable {
  let chains = Recorder<[Data]>()

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    guard let trust = challenge.protectionSpace.serverTrust else { return (.performDefaultHandling, nil) }
    chains.record(trust.certificates.map(\.derBytes))
    return (.useCredential, URLCredential(trust: trust))
  }
}

/// Answers when a test says so.
private final class LateDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  let handlers = Recorder<@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void>()

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { handlers.record(completionHandler) }
}

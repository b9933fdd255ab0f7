import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Challenges by custom protocols.
@Suite struct ProtocolChallengeTests {
  /// Answers with what its challenge was answered with.
  private final class Asking: URLProtocol, URLAuthenticationChallengeSender, @unchecked Sendable {
    // Sendable by hand: used on its thread alone.
    static let threads = Recorder<[Int]>()
    private var thread = 0

    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "asking" }

    override func startLoading() {
      thread = ObjectIdentifier(Thread.current).hashValue
      let space = URLProtectionSpace(
        host: request.url?.host ?? "", port: 1, protocol: "asking", realm: "realm",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      let proposed =
        request.url?.path == "/proposed"
        ? URLCredential(user: "proposed", password: "secret", persistence: .none) : nil
      let challenge = URLAuthenticationChallenge(
        protectionSpace: space, proposedCredential: proposed,
        previousFailureCount: request.url?.path == "/again" ? 1 : 0, failureResponse: nil, error: nil, sender: self)
      client?.urlProtocol(self, didReceive: challenge)
      guard request.url?.path == "/withdrawn" else { return }
      client?.urlProtocol(self, didCancel: challenge)
      answer("withdrawn")
    }

    private func answer(_ text: String) {
      Asking.threads.record([thread, ObjectIdentifier(Thread.current).hashValue])
      client?.urlProtocol(self, didLoad: Data(text.utf8))
      client?.urlProtocolDidFinishLoading(self)
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
      answer("used \(credential.user ?? "")")
    }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { answer("without") }
    func cancel(_ challenge: URLAuthenticationChallenge) {
      guard request.url?.path == "/own-error" else { return }
      client?.urlProtocol(self, didFailWithError: URLError(.userCancelledAuthentication))
    }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { answer("default") }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { answer("rejected") }
  }

  private final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
    let disposition: URLSession.AuthChallengeDisposition
    let credential: URLCredential?
    let asked = Recorder<URLAuthenticationChallenge>()
    let isSilent: Bool
    private let kept = Mutex<[@Sendable () -> Void]>([])

    init(
      _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil, isSilent: Bool = false
    ) {
      (self.disposition, self.credential, self.isSilent) = (disposition, credential, isSilent)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      asked.record(challenge)
      let (disposition, credential) = (self.disposition, self.credential)
      if isSilent {
        kept.withLock { $0.append { completionHandler(disposition, credential) } }
      } else {
        completionHandler(disposition, credential)
      }
    }

    func release() { kept.withLock { $0 = [] } }
  }

  private func session(_ delegate: Delegate?) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Asking.self]
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  static let answers: [(URLSession.AuthChallengeDisposition, user: String?, expected: String)] = [
    (.useCredential, "user", "used user"), (.useCredential, nil, "without"), (.performDefaultHandling, nil, "default"),
    (.rejectProtectionSpace, nil, "rejected"),
  ]

  @Test(arguments: answers.indices) func theDelegatesAnswerGoesToTheSender(index: Int) async throws {
    let row = ProtocolChallengeTests.answers[index]
    let delegate = Delegate(
      row.0, row.user.map { URLCredential(user: $0, password: "secret", persistence: .none) })
    let session = session(delegate)
    defer { session.invalidateAndCancel() }
    let (data, _) = try await session.data(from: try #require(URL(string: "asking://\(index).test/")))
    #expect(String(decoding: data, as: UTF8.self) == row.expected)
    #expect(delegate.asked.all.map(\.protectionSpace.realm) == ["realm"])
  }

  @Test func withoutADelegateTheDefaultHandlingApplies() async throws {
    let session = session(nil)
    defer { session.invalidateAndCancel() }
    var (data, _) = try await session.data(from: try #require(URL(string: "asking://none.test/")))
    #expect(String(decoding: data, as: UTF8.self) == "default")
    (data, _) = try await session.data(from: try #require(URL(string: "asking://none.test/proposed")))
    #expect(String(decoding: data, as: UTF8.self) == "used proposed")
  }

  /// A credential that was refused before is not proposed again.
  @Test(arguments: ["/", "/again"]) func theStoragesDefaultCredentialIsProposed(path: String) async throws {
    let delegate = Delegate(.performDefaultHandling)
    let session = session(delegate)
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "asking://stored.test\(path)"))
    let space = URLProtectionSpace(
      host: "stored.test", port: 1, protocol: "asking", realm: "realm",
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    session.configuration.urlCredentialStorage?.setDefaultCredential(
      URLCredential(user: "stored", password: "secret", persistence: .forSession), for: space)
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == (path == "/" ? "used stored" : "default"))
    let asked = try await delegate.asked.next()
    #expect(asked.proposedCredential?.user == (path == "/" ? "stored" : nil))
  }

  @Test(arguments: [("/", URLError.Code.cancelled), ("/own-error", .userCancelledAuthentication)])
  func aChallengeThatIsCancelledFailsTheLoad(path: String, code: URLError.Code) async throws {
    let session = session(Delegate(.cancelAuthenticationChallenge))
    defer { session.invalidateAndCancel() }
    let url = try #require(URL(string: "asking://cancelled.test\(path)"))
    #expect(await failure { _ = try await session.data(from: url) } == code)
  }

  /// The delegate never answers, and the load goes on all the same.
  @Test func aChallengeThatTheProtocolWithdrawsNeedsNoAnswer() async throws {
    let delegate = Delegate(.performDefaultHandling, isSilent: true)
    let session = session(delegate)
    defer {
      session.invalidateAndCancel()
      delegate.release()
    }
    let (data, _) = try await session.data(from: try #require(URL(string: "asking://withdrawn.test/withdrawn")))
    #expect(String(decoding: data, as: UTF8.self) == "withdrawn")
  }

  @Test func theAnswerComesOnTheProtocolsThread() async throws {
    let session = session(Delegate(.useCredential))
    defer { session.invalidateAndCancel() }
    _ = try await session.data(from: try #require(URL(string: "asking://thread.test/")))
    #expect(Asking.threads.all.allSatisfy { $0.first == $0.last })
    #expect(Asking.threads.count > 0)
  }
}

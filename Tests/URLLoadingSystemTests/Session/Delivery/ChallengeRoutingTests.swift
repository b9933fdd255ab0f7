import Foundation
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// Answers at both levels, once with a completion handler and once as an `async` function.
private final class BothLevels: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.useCredential, URLCredential(user: "session level", password: "", persistence: .none))
  }
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { completionHandler(.useCredential, URLCredential(user: "task level", password: "", persistence: .none)) }
}

private final class TaskLevelOnly: NSObject, URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.useCredential, URLCredential(user: "task only", password: "", persistence: .none))
  }
}

private final class SessionLevelOnly: NSObject, URLSessionDelegate {
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { completionHandler(.useCredential, URLCredential(user: "session only", password: "", persistence: .none)) }
}

private final class Nothing: NSObject, URLSessionTaskDelegate {}

private final class NoClient: LoadClient {}

@Suite struct ChallengeRoutingTests {
  struct Case: Sendable {
    let method: String
    let own: (any URLSessionTaskDelegate)?
    let session: (any URLSessionDelegate)?
    /// The user of the credential; nil for default handling.
    let user: String?
  }

  static let cases = [
    Case(method: NSURLAuthenticationMethodServerTrust, own: nil, session: BothLevels(), user: "session level"),
    Case(method: NSURLAuthenticationMethodNTLM, own: nil, session: BothLevels(), user: "session level"),
    Case(method: NSURLAuthenticationMethodHTTPBasic, own: nil, session: BothLevels(), user: "task level"),
    Case(method: NSURLAuthenticationMethodServerTrust, own: nil, session: TaskLevelOnly(), user: "task only"),
    Case(method: NSURLAuthenticationMethodNegotiate, own: TaskLevelOnly(), session: Nothing(), user: "task only"),
    Case(method: NSURLAuthenticationMethodHTTPDigest, own: nil, session: SessionLevelOnly(), user: nil),
    Case(
      method: NSURLAuthenticationMethodClientCertificate, own: nil, session: SessionLevelOnly(), user: "session only"),
    Case(method: NSURLAuthenticationMethodHTTPBasic, own: TaskLevelOnly(), session: BothLevels(), user: "task only"),
    Case(method: NSURLAuthenticationMethodHTTPBasic, own: Nothing(), session: BothLevels(), user: "task level"),
    Case(method: NSURLAuthenticationMethodHTTPBasic, own: Nothing(), session: Nothing(), user: nil),
    Case(method: NSURLAuthenticationMethodServerTrust, own: Nothing(), session: nil, user: nil),
  ]

  @Test(arguments: cases.indices)
  func goesToTheRightMethod(_ index: Int) async throws {
    let test = Self.cases[index]
    let session = URLSession(configuration: .ephemeral, delegate: test.session, delegateQueue: nil)
    let task = session.dataTask(with: try textURL("x"))
    let delivery = TaskDelivery(
      of: task, in: session, lane: session.lane, first: test.own.map { DelegateFacets($0) },
      second: test.session.map { DelegateFacets($0) })
    let space = URLProtectionSpace(
      host: "host", port: 443, protocol: "https", realm: nil, authenticationMethod: test.method)
    let challenge = URLAuthenticationChallenge(protectionSpace: space)
    let context = LoadContext(
      for: nil, configuration: LoadConfiguration(), transport: HTTPTransport(configuration: TransportConfiguration()),
      client: NoClient())
    let answers = Recorder<ChallengeAnswer>()
    context.start { context in
      if let answer = try? await delivery.answer(to: challenge, of: task, control: context.control) {
        answers.record(answer)
      }
    }
    let answer = try await answers.next()
    #expect(answer.credential?.user == test.user)
    #expect(answer.disposition == (test.user == nil ? .performDefaultHandling : .useCredential))
    session.invalidateAndCancel()
  }
}

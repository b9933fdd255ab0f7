import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Challenges of a session that are answered through their sender, as code for `NSURLConnection` does.
@Suite struct ChallengeSenderTests {
  private final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
    let asked = Recorder<URLAuthenticationChallenge>()
    private let act: @Sendable (any URLAuthenticationChallengeSender, URLAuthenticationChallenge) -> Void

    init(_ act: @escaping @Sendable (any URLAuthenticationChallengeSender, URLAuthenticationChallenge) -> Void) {
      self.act = act
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      asked.record(challenge)
      if let sender = challenge.sender { act(sender, challenge) }
      // The first answer counts.
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }

  private static let ann = URLCredential(user: "ann", password: "pass", persistence: .none)

  @Test(
    arguments: [
      ("use", "in", 1), ("continueWithoutCredential", "who?", 1), ("performDefaultHandling", "who?", 1),
      ("rejectProtectionSpace", "who?", 2), ("cancel", "cancelled", 1),
    ])
  func theSenderAnswersAsTheCompletionHandlerDoes(_ method: String, _ outcome: String, _ count: Int) async throws {
    try await withServer({ request in
      request.value("Authorization") == basic("ann", "pass")
        ? .ok("in") : .unauthorized("Basic realm=a", "Basic realm=b")
    }) { server in
      let delegate = Delegate { sender, challenge in
        switch method {
        case "use": sender.use(Self.ann, for: challenge)
        case "continueWithoutCredential": sender.continueWithoutCredential(for: challenge)
        case "performDefaultHandling": sender.performDefaultHandling(for: challenge)
        case "rejectProtectionSpace": sender.rejectProtectionSpaceAndContinue(with: challenge)
        default: sender.cancel(challenge)
        }
      }
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      if outcome == "cancelled" {
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
        #expect(error?.code == .cancelled)
      } else {
        try await expectText(outcome, session.data(from: server.url()))
      }
      #expect(delegate.asked.all.count == count)
    }
  }
}

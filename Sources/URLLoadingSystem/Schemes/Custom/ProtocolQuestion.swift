import Foundation

/// A challenge of a protocol that the app has not answered. Confined to the load's event loop.
final class ProtocolQuestion: @unchecked Sendable {
  let challenge: URLAuthenticationChallenge
  private let context: LoadContext
  /// The same load, with a wait of its own: the question can be given up while the load goes on.
  private let waiting: LoadContext

  init(about challenge: URLAuthenticationChallenge, in context: LoadContext) {
    self.challenge = challenge
    self.context = context
    waiting = context.withOwnControl()
  }

  /// The app's answer, or the one that the credential storage gives in its place; nil when the question was given up.
  func answer() async -> ChallengeAnswer? {
    waiting.loop.assertInEventLoop()
    let proposed: URLCredential?
    do { proposed = try await context.control.whileClientHoldsLoad { try await proposal() } } catch { return nil }
    let asked = URLAuthenticationChallenge(
      protectionSpace: challenge.protectionSpace, proposedCredential: proposed,
      previousFailureCount: challenge.previousFailureCount, failureResponse: challenge.failureResponse,
      error: challenge.error)
    var answer = ChallengeAnswer()
    if context.client.load(waiting, mayAnswerChallengesOf: challenge.protectionSpace.authenticationMethod) {
      do {
        answer = try await context.control.whileClientHoldsLoad {
          try await context.client.load(waiting, didReceive: asked)
        }
      } catch { return nil }
    }
    guard answer.disposition == .performDefaultHandling, challenge.previousFailureCount == 0, let proposed,
      proposed.hasPassword
    else { return answer }
    return ChallengeAnswer(.useCredential, proposed)
  }

  private func proposal() async throws -> URLCredential? {
    if let own = challenge.proposedCredential { return own }
    guard challenge.previousFailureCount == 0 else { return nil }
    return try await context.client.load(waiting, defaultCredentialFor: challenge.protectionSpace)
  }

  /// Lets the wait for the app's answer end.
  func giveUp() {
    waiting.loop.assertInEventLoop()
    waiting.control.abort(ErrorMapping.cancelled)
  }
}

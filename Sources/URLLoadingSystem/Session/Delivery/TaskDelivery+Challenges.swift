import Foundation

extension TaskDelivery {
  /// Asks about `challenge`; no answer means default handling.
  ///
  /// Challenges of a connection (server trust, client certificate, NTLM, Negotiate) go to the session-level method, and
  /// only if no delegate has it to the task-level one. All others go to the task-level method alone. On each level the
  /// task's delegate comes before the session's. A stream task's connection is its own, so its challenges are, too.
  func answer(
    to challenge: URLAuthenticationChallenge, of task: URLSessionTask, control: LoadControl
  ) async throws -> ChallengeAnswer {
    let session = self.session
    let cancelled = ChallengeAnswer(.cancelAuthenticationChallenge)
    if !(task is URLSessionStreamTask),
      TaskDelivery.connectionMethods.contains(challenge.protectionSpace.authenticationMethod)
    {
      let answer = try await ask(.sessionChallenge, fallback: cancelled, control: control) { facets, answer in
        let receiver = ChallengeSender.Receiver(answer)
        let challenge = URLAuthenticationChallenge(
          authenticationChallenge: challenge, sender: ChallengeSender(receiver))
        facets.session.urlSession(session, didReceive: challenge) {
          receiver.answer(ChallengeAnswer($0, $1))
        }
      }
      if let answer { return answer }
    }
    let answer = try await ask(.taskChallenge, fallback: cancelled, control: control) { facets, answer in
      let receiver = ChallengeSender.Receiver(answer)
      let challenge = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: ChallengeSender(receiver))
      facets.task?.urlSession(session, task: task, didReceive: challenge) {
        receiver.answer(ChallengeAnswer($0, $1))
      }
    }
    return answer ?? ChallengeAnswer()
  }

  /// False when every delegate is known to leave out the methods that a challenge of `method` goes to.
  func mayAnswerChallenges(of method: String) -> Bool {
    for facets in [first, second] {
      guard let facets else { continue }
      if !facets.capabilities.lacks(DelegateQuestion.taskChallenge) { return true }
      guard TaskDelivery.connectionMethods.contains(method) else { continue }
      if !facets.capabilities.lacks(DelegateQuestion.sessionChallenge) { return true }
    }
    return false
  }

  private static let connectionMethods: Set<String> = [
    NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
    NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
  ]
}

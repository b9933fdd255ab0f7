/// The answer to a challenge: what the load is to do, and with which credential.
package struct ChallengeAnswer: Sendable {
  package var disposition: URLSession.AuthChallengeDisposition
  /// Counts only with `.useCredential`, and may be nil even there: go on without one.
  package var credential: URLCredential?

  package init(
    _ disposition: URLSession.AuthChallengeDisposition = .performDefaultHandling, _ credential: URLCredential? = nil
  ) {
    self.disposition = disposition
    self.credential = credential
  }
}

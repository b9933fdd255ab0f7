/// How whoever was asked wants a challenge to be answered.
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

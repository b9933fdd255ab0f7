/// A server's question who asks, or the question whether a server is to be trusted: the app's delegate answers, by
/// `answerChallenge`. The transfer waits. The question ends with the connection; the next one brings a new question.
///
/// Sent to apps that speak version 3.
package struct ChallengeQuestion: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// The service's number of the question, which the answer repeats.
  package var number: UInt64
  package var space: ProtectionSpaceDescription
  package var previousFailureCount: Int
  /// The response that asked; nil when none did.
  package var response: ResponseSummary?
  /// The user of the credential that the service would use. Its password stays with the service.
  package var proposedUser: String?
  /// False where the service has that user's name alone, as the URL of the request does. nil: not said.
  package var hasProposedPassword: Bool?

  package init(
    session: String, taskIdentifier: Int, number: UInt64, space: ProtectionSpaceDescription,
    previousFailureCount: Int = 0, response: ResponseSummary? = nil, proposedUser: String? = nil,
    hasProposedPassword: Bool? = nil
  ) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.number = number
    self.space = space
    self.previousFailureCount = previousFailureCount
    self.response = response
    self.proposedUser = proposedUser
    self.hasProposedPassword = hasProposedPassword
  }
}

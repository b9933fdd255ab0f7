/// The date before which a task was not to begin has come: the app's delegate says how it begins, by `answerDelayedRequest`.
/// The transfer waits for that, for a while. A question that ends with its connection is not asked again.
///
/// Sent to apps whose `attach` says that they answer it.
package struct DelayedRequestQuestion: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// The service's number of the question, which the answer repeats.
  package var number: UInt64
  /// The request that the transfer has, without a password and a body, which no change reaches: the user may have changed it.
  /// nil from an older service.
  package var request: RequestDescription?

  package init(session: String, taskIdentifier: Int, number: UInt64, request: RequestDescription? = nil) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.number = number
    self.request = request
  }
}

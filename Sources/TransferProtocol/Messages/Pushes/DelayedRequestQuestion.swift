/// The date before which a task was not to begin has come: the app's delegate says how it begins, by `answerDelayedRequest`.
/// The transfer waits for that, for a while. A question that ends with its connection is not asked again.
///
/// Sent to apps whose `attach` says that they answer it.
package struct DelayedRequestQuestion: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// The service's number of the question, which the answer repeats.
  package var number: UInt64

  package init(session: String, taskIdentifier: Int, number: UInt64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.number = number
  }
}

import Foundation

package struct Completion: Codable, Sendable, Equatable {
  /// nil when the task succeeded. HTTP statuses are no failures.
  package var failure: TransferFailure?
  package var response: ResponseSummary?
  package var countOfBytesReceived: Int64
  /// -1 when it is not known.
  package var countOfBytesExpectedToReceive: Int64
  /// Of an upload's file; nil for downloads.
  package var countOfBytesSent: Int64?
  package var countOfBytesExpectedToSend: Int64?
  /// The latest requests and responses, oldest first, as far as the service remembers them; nil from older services.
  package var transactions: [TransactionDescription]?
  /// The bytes of a download that has failed, with which a later task can go on; nil where there are none of use, and from older
  /// services.
  package var resumePoint: ResumePoint?
  /// In the transfer service's queue: the transactions, which `transactions` is without. nil in messages.
  package var sealedTransactions: Data?

  package init(
    failure: TransferFailure?, response: ResponseSummary?, countOfBytesReceived: Int64,
    countOfBytesExpectedToReceive: Int64
  ) {
    self.failure = failure
    self.response = response
    self.countOfBytesReceived = countOfBytesReceived
    self.countOfBytesExpectedToReceive = countOfBytesExpectedToReceive
  }
}

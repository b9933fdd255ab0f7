import URLLoadingSystem

/// How often and when a transfer is tried again, as its command has said. It is kept in the transfer's record.
struct RetryChoice: Codable, Sendable, Equatable {
  /// After failures in a row; nil: until the time is over.
  var retries: Int?
  /// Seconds before the first of them; nil: as the transfer service does by itself.
  var delay: Double?

  /// nil where nothing was said.
  init?(retries: Int?, delay: Double?) {
    guard retries != nil || delay != nil else { return nil }
    (self.retries, self.delay) = (retries, delay)
  }

  var policy: TransferRetryPolicy {
    TransferRetryPolicy(
      maximumAttempts: retries.map { min(max(0, $0), Int(Int32.max)) + 1 }, pause: delay,
      longestPause: delay.map { max($0, 600) }, statuses: retries == nil ? [] : TransferRetryPolicy.passingStatuses)
  }
}

package enum TransferState: String, Codable, Sendable, CaseIterable {
  /// Held back by the app.
  case suspended
  /// Ready; `waiting` says what it waits for.
  case waiting
  case running
  /// Over; `failure` says whether it succeeded.
  case completed
}

package struct ResumedAtOffset: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// The position at which the bytes go on. It may be less than the progress reported before.
  package var offset: Int64
  /// -1 when it is not known.
  package var expectedTotal: Int64

  package init(session: String, taskIdentifier: Int, offset: Int64, expectedTotal: Int64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.offset = offset
    self.expectedTotal = expectedTotal
  }
}

package struct DownloadProgress: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var totalBytesWritten: Int64
  /// -1 when it is not known.
  package var totalBytesExpectedToWrite: Int64

  package init(session: String, taskIdentifier: Int, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.totalBytesWritten = totalBytesWritten
    self.totalBytesExpectedToWrite = totalBytesExpectedToWrite
  }
}

package struct UploadProgress: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var totalBytesSent: Int64
  /// -1 when it is not known.
  package var totalBytesExpectedToSend: Int64

  package init(session: String, taskIdentifier: Int, totalBytesSent: Int64, totalBytesExpectedToSend: Int64) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.totalBytesSent = totalBytesSent
    self.totalBytesExpectedToSend = totalBytesExpectedToSend
  }
}

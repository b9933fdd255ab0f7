package struct FinishedDownload: Codable, Sendable, Equatable {
  /// The absolute path of the file, valid until the event is acknowledged.
  package var path: String
  package var response: ResponseSummary?
  package var byteCount: Int64

  package init(path: String, response: ResponseSummary?, byteCount: Int64) {
    self.path = path
    self.response = response
    self.byteCount = byteCount
  }
}

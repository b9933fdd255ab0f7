package struct ResponseReceived: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  package var response: ResponseSummary

  package init(session: String, taskIdentifier: Int, response: ResponseSummary) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.response = response
  }
}

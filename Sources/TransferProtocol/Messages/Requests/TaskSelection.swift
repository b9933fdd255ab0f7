package struct TaskSelection: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifiers: [Int]

  package init(session: String, taskIdentifiers: [Int]) {
    self.session = session
    self.taskIdentifiers = taskIdentifiers
  }
}

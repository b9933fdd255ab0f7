package struct CreateTasks: Codable, Sendable, Equatable {
  package var session: String
  package var tasks: [TransferDescription]

  package init(session: String, tasks: [TransferDescription]) {
    self.session = session
    self.tasks = tasks
  }
}

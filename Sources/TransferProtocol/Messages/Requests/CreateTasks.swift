package struct CreateTasks: Codable, Sendable, Equatable {
  package var session: String
  package var tasks: [TransferDescription]

  package init(session: String, tasks: [TransferDescription]) {
    self.session = session
    self.tasks = tasks
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(String.self, forKey: .session)
    tasks = try container.decodeList(of: TransferDescription.self, forKey: .tasks)
  }
}

package struct TaskSelection: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifiers: [Int]

  package init(session: String, taskIdentifiers: [Int]) {
    self.session = session
    self.taskIdentifiers = taskIdentifiers
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(String.self, forKey: .session)
    taskIdentifiers = try container.decodeList(of: Int.self, forKey: .taskIdentifiers)
  }
}

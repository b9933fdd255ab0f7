package struct CreateTasks: Codable, Sendable, Equatable {
  package var session: String
  package var tasks: [TransferDescription]
  /// How many open files follow the message: one for each upload, in their order. They are sent once the service asks for
  /// them (`ServicePush.sendFiles`), and until then nothing else is. nil: none.
  package var files: Int?

  package init(session: String, tasks: [TransferDescription], files: Int? = nil) {
    self.session = session
    self.tasks = tasks
    self.files = files
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(String.self, forKey: .session)
    tasks = try container.decodeList(of: TransferDescription.self, forKey: .tasks)
    files = try container.decodeIfPresent(Int.self, forKey: .files)
  }
}

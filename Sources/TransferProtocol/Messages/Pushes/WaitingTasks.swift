/// Why tasks of a session do not run, where that has changed.
///
/// Sent to apps that speak version 4.
package struct WaitingTasks: Codable, Sendable, Equatable {
  /// How many one message has at most.
  package static let maximumCount = 500

  package struct Entry: Codable, Sendable, Equatable {
    package var taskIdentifier: Int
    /// nil: it runs.
    package var waiting: WaitingStatus?

    package init(taskIdentifier: Int, waiting: WaitingStatus?) {
      self.taskIdentifier = taskIdentifier
      self.waiting = waiting
    }
  }

  package var session: String
  package var tasks: [Entry]

  package init(session: String, tasks: [Entry]) {
    self.session = session
    self.tasks = tasks
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    session = try container.decode(String.self, forKey: .session)
    tasks = try container.decodeList(of: Entry.self, forKey: .tasks)
  }
}

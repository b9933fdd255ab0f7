/// Some of a session's tasks, by growing task identifier.
package struct TaskPage: Codable, Sendable, Equatable {
  package var tasks: [TransferSnapshot]
  /// The value of `after` for the next page; nil when this is the last one.
  package var next: Int?

  package init(tasks: [TransferSnapshot] = [], next: Int? = nil) {
    self.tasks = tasks
    self.next = next
  }
}

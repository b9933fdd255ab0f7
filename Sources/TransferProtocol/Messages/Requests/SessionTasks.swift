package struct SessionTasks: Codable, Sendable, Equatable {
  package var session: String
  /// Only tasks with a larger task identifier.
  package var after: Int

  package init(session: String, after: Int) {
    self.session = session
    self.after = after
  }
}

package struct CancelTask: Codable, Sendable, Equatable {
  package var session: String
  package var taskIdentifier: Int
  /// Ask for what a later task needs to go on from here. There is none when the server gave nothing to check with.
  package var producingResumePoint: Bool

  package init(session: String, taskIdentifier: Int, producingResumePoint: Bool = false) {
    self.session = session
    self.taskIdentifier = taskIdentifier
    self.producingResumePoint = producingResumePoint
  }
}

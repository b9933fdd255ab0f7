package struct Attached: Codable, Sendable, Equatable {
  /// The first page of the session's tasks: those not over and those over with events still to be delivered.
  package var page: TaskPage
  /// The identifier for the next new task. Task identifiers grow and are never used again.
  package var nextTaskIdentifier: Int
  /// How many events wait for delivery.
  package var pendingEventCount: Int
  /// Whether `eventsFinished` will follow: there were events or unfinished tasks when the app attached.
  package var willFinishEvents: Bool

  package init(page: TaskPage, nextTaskIdentifier: Int, pendingEventCount: Int, willFinishEvents: Bool) {
    self.page = page
    self.nextTaskIdentifier = nextTaskIdentifier
    self.pendingEventCount = pendingEventCount
    self.willFinishEvents = willFinishEvents
  }
}

/// The state of a task, as the service knows it.
struct KnownTask: Equatable, Sendable {
  var isSuspended: Bool
  var hints: TaskHints
  /// Over; its events are delivered or on the way.
  var isOver = false
}

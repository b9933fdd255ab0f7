import TransferProtocol

/// The state of a task, as the app wants it.
struct WantedTask: Equatable, Sendable {
  enum Cancellation: Equatable, Sendable {
    case none
    case plain
    /// The service is asked for resume data.
    case producingResumePoint
  }

  var isSuspended: Bool
  var hints: TaskHints
  var cancellation = Cancellation.none
  /// A change of the task's request that the service has not confirmed. Telling it twice is the same as once.
  var edit: EditTransfer?
}

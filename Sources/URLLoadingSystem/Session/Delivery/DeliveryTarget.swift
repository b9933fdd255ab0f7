/// The place where the calls of a lane run: an operation queue, a run loop in some of its modes, or the thread that has a call.
protocol DeliveryTarget: AnyObject, Sendable {
  /// Runs `block` soon, and after what it was given before. A lane gives the next block when the last one has begun.
  func run(_ block: @escaping @Sendable () -> Void)
  /// Whether something else waits to run there, as far as the target knows.
  var hasOtherWork: Bool { get }
  /// Whether the app holds what has not begun.
  var isSuspended: Bool { get }
}

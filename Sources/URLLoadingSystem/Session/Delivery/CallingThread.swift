/// Runs calls at once on the thread that has them, which is the event loop's: for calls of the library's own that do
/// not block, such as waking a thread that waits.
final class CallingThread: DeliveryTarget {
  func run(_ block: @escaping @Sendable () -> Void) { block() }

  var hasOtherWork: Bool { false }

  var isSuspended: Bool { false }
}

import Dispatch

/// Waits of programs that rest for hours. `Task.sleep` takes a global queue of Dispatch for its timer, and with it a timer of
/// Dispatch's own that wakes the process each second from then on.
package enum Pause {
  private static let queue = DispatchQueue(label: "pauses")

  /// Returns when the time has passed; that in which the machine sleeps does not count.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  package static func wait(_ duration: Duration) async throws {
    let end = PendingResult<Void>()
    // A source may be used from any thread.
    nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { _ = end.finish(.success(())) }
    let (seconds, attoseconds) = duration.components
    let whole = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
    timer.schedule(deadline: .now() + .nanoseconds(Int(min(max(whole, 0), 9e18))))
    timer.activate()
    defer { timer.cancel() }
    try await withTaskCancellationHandler {
      try await end.value()
    } onCancel: {
      _ = end.finish(.failure(CancellationError()))
    }
  }
}

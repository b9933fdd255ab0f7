/// A handler or a call that waits for an operation of a task.
enum TaskWaiter<Value: Sendable>: Sendable {
  /// On the delegate queue.
  case handler(@Sendable (Result<Value, any Error>) -> Void)
  /// At once.
  case call(UnsafeContinuation<Value, any Error>)

  func answer(_ result: Result<Value, any Error>, on lane: DeliveryLane?) {
    switch self {
    case .handler(let handler):
      guard let lane else { return handler(result) }
      lane.append { handler(result) }
    case .call(let continuation): continuation.resume(with: result)
    }
  }
}

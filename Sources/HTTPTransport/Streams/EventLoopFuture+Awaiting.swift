import NIOCore

extension EventLoopFuture where Value: Sendable {
  /// Waits for the value. Called on the future's loop, and stays there.
  func valueOnLoop() async throws -> Value {
    eventLoop.assertInEventLoop()
    let result: Result<Value, any Error> = await withUnsafeContinuation { continuation in
      assumeIsolated().whenComplete { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}

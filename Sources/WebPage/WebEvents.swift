/// The updates for one reader, and nil from time to time: a reader whose machine was cut off is noticed by writing.
struct WebEvents: Sendable {
  let updates: AsyncStream<WebUpdate?>
  private let continuation: AsyncStream<WebUpdate?>.Continuation

  init(_ source: AsyncStream<WebUpdate>, keepAlive: Duration) {
    let (updates, continuation) = AsyncStream.makeStream(of: WebUpdate?.self, bufferingPolicy: .bufferingOldest(256))
    let reading = Task {
      for await update in source {
        // The browser connects again, and gets all transfers anew.
        if case .dropped = continuation.yield(update) { break }
      }
      continuation.finish()
    }
    let ticking = Task {
      while true {
        try await Task.sleep(for: keepAlive)
        continuation.yield(nil)
      }
    }
    continuation.onTermination = { _ in
      reading.cancel()
      ticking.cancel()
    }
    (self.updates, self.continuation) = (updates, continuation)
  }

  /// The reader has gone.
  func end() { continuation.finish() }
}

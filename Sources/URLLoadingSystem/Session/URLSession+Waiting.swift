import Foundation
import HTTPTransport

extension URLSession {
  /// Loads `request` into memory, and calls `handler` on `lane` in place of the delegate queue.
  func load(
    _ request: URLRequest, to lane: DeliveryLane,
    _ handler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) {
    let task = dataTask(with: request, completionHandler: handler)
    task.lockedState.withLock { $0.ownLane = lane }
    task.resume()
  }

  /// Loads `request` into memory, and blocks the calling thread until the answer is there.
  ///
  /// The event loop brings the answer itself, so the wait needs no queue, no run loop and no thread of Swift's executor,
  /// and may be made on any of them. On an event loop of the library it could wait for itself: it fails there.
  func waitForAnswer(to request: URLRequest) -> (response: URLResponse?, result: Result<Data, any Error>) {
    guard !LoopExecutor.isOnLoop else {
      return (nil, .failure(ErrorMapping.urlError(Self.noWaitOnLoops, url: request.url)))
    }
    let answer = SynchronousAnswer()
    load(request, to: DeliveryLane(to: CallingThread())) { answer.give($0, $1, $2) }
    return answer.wait()
  }

  private static var noWaitOnLoops: URLError {
    ErrorMapping.make(
      .cannotLoadFromNetwork,
      because: "An event loop of SwiftNIO's shared group can't wait for an answer that it may have to bring itself. "
        + "Wait on another thread, or use an async call.")
  }
}

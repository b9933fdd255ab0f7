import Foundation

@available(*, deprecated, message: "Use URLSession and its tasks.")
extension NSURLConnection {
  /// Whether there is a loader for the request's scheme, or a registered class of `URLProtocol` takes the request. That a
  /// load succeeds is not said with it.
  public class func canHandle(_ request: URLRequest) -> Bool {
    ProtocolRegistry.classes.contains { $0.canInit(with: request) } || SchemeLoaders.handles(request.url)
  }

  /// Loads `request` and waits for the answer, blocking the calling thread.
  ///
  /// The wait needs no run loop and no queue, so it may be made on any thread but those of SwiftNIO's shared event loops.
  /// Redirects are followed, credentials come from the URL or the shared storage, and the response to a refused one is
  /// the result.
  /// - Parameters:
  ///   - request: The request, which is copied.
  ///   - response: Set to the response; nil when none came.
  /// - Returns: The data.
  /// - Throws: A `URLError`.
  @available(*, deprecated, message: "Use URLSession.data(for:).")
  public class func sendSynchronousRequest(
    _ request: URLRequest, returning response: UnsafeMutablePointer<URLResponse?>?
  ) throws -> Data {
    try sendSynchronousRequest(request, returning: response, in: .shared)
  }

  class func sendSynchronousRequest(
    _ request: URLRequest, returning response: UnsafeMutablePointer<URLResponse?>?, in sessions: ConnectionSessions
  ) throws -> Data {
    let (received, result) = sessions.stored.waitForAnswer(to: request)
    response?.pointee = received
    return try result.get()
  }

  /// Loads `request`, and calls `handler` on `queue`, once: with response and data, or with a `URLError` and the
  /// response if there was one.
  @available(*, deprecated, message: "Use URLSession.dataTask(with:completionHandler:).")
  @preconcurrency
  public class func sendAsynchronousRequest(
    _ request: URLRequest, queue: OperationQueue,
    completionHandler handler: @escaping @Sendable (URLResponse?, Data?, (any Error)?) -> Void
  ) {
    ConnectionSessions.shared.load(request, to: DeliveryLane(to: queue)) { handler($1, $0, $2) }
  }
}

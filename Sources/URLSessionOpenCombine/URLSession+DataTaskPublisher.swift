import Foundation
import OpenCombine
import URLLoadingSystem

extension URLSession {
  /// A publisher that loads `url` into memory for each of its subscribers.
  /// - Returns: A publisher of data and response, or of a `URLError`. Nothing is loaded before a subscriber demands it.
  public func dataTaskPublisher(for url: URL) -> DataTaskPublisher { dataTaskPublisher(for: URLRequest(url: url)) }

  /// A publisher that loads `request` into memory for each of its subscribers.
  /// - Returns: A publisher of data and response, or of a `URLError`. Nothing is loaded before a subscriber demands it.
  public func dataTaskPublisher(for request: URLRequest) -> DataTaskPublisher {
    DataTaskPublisher(request: request, session: self)
  }

  /// Publishes what a data task of a session loads: one value, then the end.
  ///
  /// Each subscriber has a task of its own, made and resumed with its first demand. The value and the end come on the
  /// session's `delegateQueue`. A subscriber that cancels cancels its task, and is told nothing more. A status such as
  /// 404 is a response and no failure.
  public struct DataTaskPublisher: Publisher, Sendable {
    public typealias Output = (data: Data, response: URLResponse)
    public typealias Failure = URLError

    /// The request that each task loads.
    public let request: URLRequest

    /// The session that makes the tasks.
    public let session: URLSession

    /// A publisher that loads `request` in `session`.
    public init(request: URLRequest, session: URLSession) {
      self.request = request
      self.session = session
    }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      subscriber.receive(subscription: DataTaskSubscription(to: self, of: subscriber))
    }
  }
}

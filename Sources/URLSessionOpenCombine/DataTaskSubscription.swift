import Foundation
import OpenCombine
import Synchronization
import URLLoadingSystem

/// One subscriber's task: made with its first demand, cancelled with its subscription.
///
/// Any number above none is enough for the one value there is. The task keeps the subscription until it has ended.
final class DataTaskSubscription: Subscription, CustomStringConvertible, Sendable {
  typealias Downstream = any Subscriber<URLSession.DataTaskPublisher.Output, URLError>

  /// A subscriber that is passed between threads.
  private struct Recipient: @unchecked Sendable {
    // Sendable by hand, because subscribers are not: a publisher may call one on any thread, one call at a time. The
    // calls of this one come from the only handler of the only task.
    let downstream: Downstream
  }

  private struct State {
    /// nil once nothing more is to be told.
    var recipient: Recipient?
    var isDemanded = false
    var task: URLSessionDataTask?
  }

  private let publisher: URLSession.DataTaskPublisher
  private let state: Mutex<State>

  init(to publisher: URLSession.DataTaskPublisher, of downstream: Downstream) {
    self.publisher = publisher
    state = Mutex(State(recipient: Recipient(downstream: downstream)))
  }

  var description: String { "DataTaskPublisher" }

  func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    let isFirst = state.withLock { state in
      guard state.recipient != nil, !state.isDemanded else { return false }
      state.isDemanded = true
      return true
    }
    guard isFirst else { return }
    // Outside the lock, since a delegate is told of the task.
    let task = publisher.session.dataTask(with: publisher.request) { [self] in end($0, $1, $2) }
    let isWanted = state.withLock { state in
      guard state.recipient != nil else { return false }
      state.task = task
      return true
    }
    if isWanted { task.resume() } else { task.cancel() }
  }

  func cancel() { finish().task?.cancel() }

  private func end(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
    guard error == nil, let response else { return tell(.failure(error.asURLError)) }
    // The subscriber may cancel when it has its value.
    _ = state.withLock { $0.recipient }?.downstream.receive((data ?? Data(), response))
    tell(.finished)
  }

  private func tell(_ completion: Subscribers.Completion<URLError>) {
    finish().recipient?.downstream.receive(completion: completion)
  }

  /// Nothing is told from now on. Returns what the subscription held, to be released outside the lock.
  private func finish() -> State {
    state.withLock { state in
      defer { (state.recipient, state.task) = (nil, nil) }
      return state
    }
  }
}

extension (any Error)? {
  /// A custom protocol may fail with any error. Other loads fail with a `URLError`.
  fileprivate var asURLError: URLError {
    guard let error = self else { return URLError(.badServerResponse) }
    return error as? URLError ?? URLError(.unknown, userInfo: [NSUnderlyingErrorKey: error])
  }
}

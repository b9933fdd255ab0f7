import Foundation
import OpenCombine
import Synchronization
import URLLoadingSystem

/// A subscriber that keeps what it is told, and demands only what a test says.
final class SubscriberRecorder: Subscriber, Sendable {
  typealias Input = (data: Data, response: URLResponse)
  typealias Failure = URLError

  /// Sendable by hand, because subscriptions are not: those of the tests may be used on any thread.
  private struct Held: @unchecked Sendable { let subscription: any Subscription }

  private struct State {
    var held: Held?
    var events: [String] = []
    var waiting: CheckedContinuation<Void, Never>?
    var isOver = false
  }

  private let cancelsWithValue: Bool
  private let state = Mutex(State())

  init(cancelsWithValue: Bool = false) { self.cancelsWithValue = cancelsWithValue }

  /// What was told so far: texts, and the end.
  var events: [String] { state.withLock { $0.events } }

  func demand(_ demand: Subscribers.Demand) { state.withLock { $0.held }?.subscription.request(demand) }

  func cancel() { state.withLock { $0.held }?.subscription.cancel() }

  /// Returns when the end was told.
  func end() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting = continuation }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  func receive(subscription: any Subscription) {
    let held = Held(subscription: subscription)
    state.withLock { $0.held = held }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    let status = (input.response as? HTTPURLResponse)?.statusCode
    state.withLock { $0.events.append("\(status ?? 0) \(String(decoding: input.data, as: UTF8.self))") }
    if cancelsWithValue { cancel() }
    return .none
  }

  func receive(completion: Subscribers.Completion<URLError>) {
    let waiting = state.withLock { state in
      switch completion {
      case .finished: state.events.append("finished")
      case .failure(let error): state.events.append("failed \(error.code.rawValue)")
      }
      state.isOver = true
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}

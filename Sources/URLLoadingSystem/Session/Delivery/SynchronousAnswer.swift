import Dispatch
import Foundation
import Synchronization

/// The answer for a thread that waits for it.
final class SynchronousAnswer: Sendable {
  private struct Answer: Sendable {
    var response: URLResponse?
    var result: Result<Data, any Error> = .success(Data())
  }

  private let answer = Mutex(Answer())
  private let isThere = DispatchSemaphore(value: 0)

  func give(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
    answer.withLock { answer in
      answer.response = response
      answer.result = error.map { .failure($0) } ?? .success(data ?? Data())
    }
    isThere.signal()
  }

  /// Blocks until `give` was called.
  func wait() -> (URLResponse?, Result<Data, any Error>) {
    isThere.wait()
    return answer.withLock { ($0.response, $0.result) }
  }
}

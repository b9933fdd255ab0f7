import Foundation
import FoundationNetworking
import Harness

/// A custom protocol that answers at once, one load after the other: what it costs to be asked, made, started and stopped.
struct MockAnswers {
  private let assignment: Assignment
  private let session: URLSession

  init(_ assignment: Assignment) {
    self.assignment = assignment
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.protocolClasses = [AnsweringProtocol.self] + (configuration.protocolClasses ?? [])
    session = URLSession(configuration: configuration)
    AnsweringProtocol.body.set(Data(repeating: 1, count: assignment.bytes))
  }

  func throughAsync() async throws {
    let answer = TimedCall("answer") {
      try await session.data(from: assignment.url)
    } check: { data, response in
      verify(response, bytes: data.count, expected: assignment.bytes)
    }
    try await reportTimes(of: [answer], assignment)
  }

  /// Timed until the handler runs: how its answer then reaches the task that measures is not the session's. In turn with
  /// the two changes of thread alone, which are the least that any implementation takes.
  func throughCompletionHandlers() async throws {
    let hops = ThreadHops()
    typealias Answer = (data: Data, response: URLResponse?, time: ContinuousClock.Instant)
    let answer = TimedCall("answer") {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Answer, any Error>) in
        session.dataTask(with: assignment.url) { data, response, error in
          let time = ContinuousClock.now
          if let error {
            continuation.resume(throwing: error)
          } else {
            continuation.resume(returning: (data ?? Data(), response, time))
          }
        }.resume()
      }
    } check: { answer in
      verify(answer.response, bytes: answer.data.count, expected: assignment.bytes)
    } end: { answer in
      answer.time
    }
    let (body, response) = try await session.data(from: assignment.url)
    let bare = TimedCall("hops") {
      await withCheckedContinuation { (continuation: CheckedContinuation<Answer, Never>) in
        hops.make { continuation.resume(returning: (body, response, .now)) }
      }
    } check: { _ in
    } end: { answer in
      answer.time
    }
    try await reportTimes(of: [answer, bare], assignment)
  }
}

/// Takes every request, and answers within `startLoading()`.
final class AnsweringProtocol: URLProtocol {
  static let body = AnswerBody()

  override class func canInit(with request: URLRequest) -> Bool { true }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: nil)
    else { fail("no response") }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Self.body.get())
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}

/// The body of all answers, set before the first one.
final class AnswerBody: @unchecked Sendable {
  // Sendable by hand: the lock guards it.
  private let lock = NSLock()
  private var data = Data()

  func set(_ data: Data) { lock.withLock { self.data = data } }

  func get() -> Data { lock.withLock { data } }
}

import Foundation
import FoundationNetworking
import Harness

/// As many GETs in flight as there are connections, each followed by the next, in one session.
struct SmallGets {
  let assignment: Assignment
  let session: URLSession
  let counter = ResponseCounter()

  init(_ assignment: Assignment) {
    self.assignment = assignment
    session = .forMeasuring(assignment)
  }

  func throughAsync() async throws {
    let urls = assignment.smallURLs
    for number in 0..<assignment.concurrent {
      let url = urls[number % urls.count]
      Task {
        do {
          while true {
            let (data, response) = try await session.data(from: url)
            verify(response, bytes: data.count, expected: assignment.bytes)
            counter.add()
          }
        } catch { fail("\(error)") }
      }
    }
    try await counter.report(assignment)
  }

  func once() async throws {
    try await reportMemory {
      let (data, response) = try await session.data(from: assignment.url)
      verify(response, bytes: data.count, expected: assignment.bytes)
    }
  }

  func throughCompletionHandlers() async throws {
    let urls = assignment.smallURLs
    for number in 0..<assignment.concurrent { loadNext(from: urls[number % urls.count]) }
    try await counter.report(assignment)
  }

  private func loadNext(from url: URL) {
    let task = session.dataTask(with: url) { data, response, error in
      if let error { fail("\(error)") }
      verify(response, bytes: data?.count ?? 0, expected: assignment.bytes)
      counter.add()
      loadNext(from: url)
    }
    task.resume()
  }
}

/// The same through a session delegate. Everything mutable belongs to the session's serial delegate queue.
final class SmallGetsDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private let assignment: Assignment
  private let counter = ResponseCounter()
  private var received: [Int: Int] = [:]

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let session = URLSession.forMeasuring(assignment, delegate: self)
    for _ in 0..<assignment.concurrent { session.dataTask(with: assignment.url).resume() }
    try await counter.report(assignment)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    received[dataTask.taskIdentifier, default: 0] += data.count
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error { fail("\(error)") }
    let bytes = received.removeValue(forKey: task.taskIdentifier) ?? 0
    verify(task.response, bytes: bytes, expected: assignment.bytes)
    counter.add()
    session.dataTask(with: assignment.url).resume()
  }
}

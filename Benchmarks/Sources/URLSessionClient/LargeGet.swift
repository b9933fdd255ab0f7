import Foundation
import FoundationNetworking
import Harness

/// One large GET, consumed in one of the ways an app can.
struct LargeGet {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func intoMemory() async throws {
    let session = URLSession.forMeasuring(assignment)
    try await reportThroughput(of: assignment) {
      let (data, response) = try await session.data(from: assignment.url)
      verify(response, bytes: data.count, expected: assignment.bytes)
    }
  }

  func throughDelegate() async throws {
    let delegate = CountingDelegate()
    let session = URLSession.forMeasuring(assignment, delegate: delegate)
    try await reportThroughput(of: assignment) {
      let response = try await delegate.load(assignment.url, in: session)
      verify(response, bytes: delegate.bytes, expected: assignment.bytes)
    }
  }

  #if OURS
  func throughBytes() async throws {
    let session = URLSession.forMeasuring(assignment)
    try await reportThroughput(of: assignment) {
      let (bytes, response) = try await session.bytes(from: assignment.url)
      let (count, sum) = try await Self.drain(bytes)
      verify(response, bytes: count, expected: assignment.bytes)
      keep(sum)
    }
  }
  #endif

  #if OURS
  /// A function of its own, bound to no actor, as one would write a parser: in a closure or on an actor the compiler
  /// has the runtime check the executor at every byte.
  private static func drain(_ bytes: URLSession.AsyncBytes) async throws -> (count: Int, sum: UInt8) {
    var count = 0
    var sum: UInt8 = 0
    for try await byte in bytes {
      count += 1
      sum &+= byte
    }
    return (count, sum)
  }
  #endif

  func intoFile() async throws {
    let session = URLSession.forMeasuring(assignment)
    let destination = assignment.directory.appendingPathComponent("urlsession.download")
    try? FileManager.default.removeItem(at: destination)
    try await reportThroughput(of: assignment) {
      let (file, response) = try await session.download(from: assignment.url)
      try FileManager.default.moveItem(at: file, to: destination)
      let size = try FileManager.default.attributesOfItem(atPath: destination.path)[.size] as? Int
      verify(response, bytes: size ?? 0, expected: assignment.bytes)
    }
  }
}

/// Counts the bytes of one data task. Everything mutable belongs to the session's serial delegate queue, and to the
/// caller of `load` before and after it.
final class CountingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private(set) var bytes = 0
  private var continuation: CheckedContinuation<URLResponse?, any Error>?

  func load(_ url: URL, in session: URLSession) async throws -> URLResponse? {
    bytes = 0
    return try await withCheckedThrowingContinuation {
      continuation = $0
      session.dataTask(with: url).resume()
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    bytes += data.count
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // Taken out first: the caller begins the next load as soon as it is resumed.
    let finished = continuation.take()
    if let error { finished?.resume(throwing: error) } else { finished?.resume(returning: task.response) }
  }
}

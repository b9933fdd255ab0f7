#if OURS
import Foundation
import FoundationNetworking
import Harness

/// GETs over HTTP/3, and an upload. What comes over another version ends the process: it would be measured as one that is HTTP/3.
struct QUICGets {
  private let assignment: Assignment
  private let request: URLRequest

  init(_ assignment: Assignment) {
    self.assignment = assignment
    var request = URLRequest(url: assignment.url)
    request.assumesHTTP3Capable = true
    self.request = request
  }

  /// As many at any time as are asked for, on one connection.
  func throughAsync() async throws {
    let session = try await session()
    let counter = ResponseCounter()
    for _ in 0..<assignment.concurrent {
      Task {
        do {
          while true {
            let (data, response) = try await session.data(for: request)
            verify(response, bytes: data.count, expected: assignment.bytes)
            counter.add()
          }
        } catch { fail("\(error)") }
      }
    }
    try await counter.report(assignment)
  }

  func intoMemory() async throws {
    let session = try await session()
    try await reportThroughput(of: assignment) {
      let (data, response) = try await session.data(for: request)
      verify(response, bytes: data.count, expected: assignment.bytes)
    }
  }

  func intoFile() async throws {
    let session = try await session()
    let destination = assignment.directory.appendingPathComponent("urlsession.download")
    try? FileManager.default.removeItem(at: destination)
    try await reportThroughput(of: assignment) {
      let (file, response) = try await session.download(for: request)
      try FileManager.default.moveItem(at: file, to: destination)
      let size = try FileManager.default.attributesOfItem(atPath: destination.path)[.size] as? Int
      verify(response, bytes: size ?? 0, expected: assignment.bytes)
    }
  }

  func upload() async throws {
    var first = request
    first.url = URL(string: "/small", relativeTo: assignment.url)?.absoluteURL
    try await LargeUpload(assignment).fromFile(in: try await session(over: "h3", first), request)
  }

  /// The first byte of an answer over a new connection to a server that is known: with early data, and behind a handshake
  /// that continues an earlier one; and the same over HTTP/2, where a server of it is named, with a handshake that continues.
  func firstBytes() async throws {
    var sessions = [
      ("early", try await session(sendsEarlyData: true), request), ("resumed", try await session(), request),
    ]
    if let beside = assignment.beside {
      let request = URLRequest(url: beside)
      sessions.append(("h2", try await session(over: "h2", request), request))
    }
    let calls = sessions.map { name, session, request in
      TimedCall(
        name,
        call: {
          let (bytes, response) = try await session.bytes(for: request)
          var iterator = bytes.makeAsyncIterator()
          var count = try await iterator.next() == nil ? 0 : 1
          let end = ContinuousClock.now
          while try await iterator.next() != nil { count += 1 }
          return (response, count, end)
        },
        check: { verify($0.0, bytes: $0.1, expected: assignment.bytes) },
        end: { $0.2 })
    }
    try await reportTimes(of: calls, assignment)
  }

  /// A session that has loaded a first response over HTTP/3 from the same folder.
  private func session(sendsEarlyData: Bool = false) async throws -> URLSession {
    var first = request
    first.url = assignment.url.deletingLastPathComponent().appendingPathComponent("small")
    return try await session(over: "h3", first, sendsEarlyData: sendsEarlyData)
  }

  private func session(
    over version: String, _ first: URLRequest, sendsEarlyData: Bool = false
  ) async throws -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.enablesEarlyData = sendsEarlyData
    let session = URLSession(configuration: configuration)
    for _ in 0..<10 {
      let log = VersionLog()
      _ = try await session.data(for: first, delegate: log)
      if log.last == version { return session }
    }
    fail("the server does not answer over \(version)")
  }
}

/// The version of the last transaction of a task. Sendable by hand: read when the task has ended.
private final class VersionLog: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  private(set) var last: String?

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    last = metrics.transactionMetrics.last?.networkProtocolName
  }
}
#endif

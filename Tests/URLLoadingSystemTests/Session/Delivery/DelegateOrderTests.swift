import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct DelegateOrderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let reply: @Sendable (RecordedRequest) -> Reply
    let make: @Sendable (URLSession, URLRequest) -> URLSessionTask
    let events: [String]
    var testDescription: String { name }
  }

  static let cases = [
    Case(
      name: "data task", reply: { _ in .ok("hello") }, make: { $0.dataTask(with: $1) },
      events: ["created", "response", "data", "metrics", "completed"]),
    Case(
      name: "empty response", reply: { _ in .status(204) }, make: { $0.dataTask(with: $1) },
      events: ["created", "response", "metrics", "completed"]),
    Case(
      name: "an HTTP error is no error", reply: { _ in .status(500, body: "oh") }, make: { $0.dataTask(with: $1) },
      events: ["created", "response", "data", "metrics", "completed"]),
    Case(
      name: "redirect", reply: { $0.path == "/end" ? .ok("x") : .redirect(to: "/end") },
      make: { $0.dataTask(with: $1) },
      events: ["created", "redirect 302", "response", "data", "metrics", "completed"]),
    Case(
      name: "informational", reply: { _ in Reply.ok("x").after(informational: 103) }, make: { $0.dataTask(with: $1) },
      events: ["created", "informational 103", "response", "data", "metrics", "completed"]),
    Case(
      name: "upload", reply: { _ in .ok("thanks") },
      make: { session, request in
        var request = request
        request.httpMethod = "POST"
        return session.uploadTask(with: request, from: Data("body".utf8))
      },
      events: ["created", "sent", "response", "data", "metrics", "completed"]),
    Case(
      name: "download", reply: { _ in .ok("file") }, make: { $0.downloadTask(with: $1) },
      events: ["created", "written", "metrics", "file", "completed"]),
    Case(
      name: "completion handler: no response, data or end",
      reply: { $0.path == "/end" ? .ok("x") : .redirect(to: "/end") },
      make: { session, request in session.dataTask(with: request) { _, _, _ in } },
      events: ["created", "redirect 302", "metrics"]),
    Case(
      name: "broken off", reply: { _ in .truncated(declared: 100, sent: 10) }, make: { $0.dataTask(with: $1) },
      events: ["created", "response", "data", "metrics", "failed -1005"]),
  ]

  @Test(.overHTTP1To3, arguments: cases)
  func comesInOrder(_ test: Case) async throws {
    try await withServer({ test.reply($0) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      test.make(session, URLRequest(url: server.url("/begin"))).resume()
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      #expect(delegate.summary == test.events + ["invalid"])
      #expect(delegate.strays.all.isEmpty)
    }
  }

  @Test(.overHTTP1To3) func everyTaskKeepsItsOrderOnAConcurrentQueue() async throws {
    final class Order: NSObject, URLSessionDataDelegate, @unchecked Sendable {
      let seen = Recorder<(task: Int, bytes: Int, isEnd: Bool)>()
      let invalid = Gate()
      func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        seen.record((dataTask.taskIdentifier, data.count, false))
      }
      func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        seen.record((task.taskIdentifier, 0, true))
      }
      func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalid.open() }
    }
    let count: Int64 = 3_000_000
    try await withServer({ _ in .pattern(BytePattern(), count: count) }) { server in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 4
      let delegate = Order()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: queue)
      for _ in 0..<8 { session.dataTask(with: server.url()).resume() }
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      for task in 1...8 {
        let events = delegate.seen.all.filter { $0.task == task }
        #expect(events.map(\.bytes).reduce(0, +) == Int(count))
        #expect(events.filter(\.isEnd).count == 1)
        #expect(events.last?.isEnd == true)
      }
    }
  }

  @Test(.overHTTP1To3) func bytesArriveUnchanged() async throws {
    let count: Int64 = 5_000_000
    try await withServer({ _ in .chunked(BytePattern(), count: count, each: 10_007) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      session.finishTasksAndInvalidate()
      var digest = BodyDigest()
      delegate.received.withLock { data in data.withUnsafeBytes { digest.update($0) } }
      #expect(digest.value == BytePattern().digest(count: count))
    }
  }

  @Test(.overHTTP1To3) func anAnswerThatNeverComesIsACancellation() async throws {
    try await withServer({ _ in .ok("hello") }) { server in
      let delegate = RecordingDelegate()
      let asked = Gate()
      delegate.onResponse = { _, _ in
        asked.open()
        return nil
      }
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url())
      task.resume()
      try await asked.wait(within: patience)
      // The handler was dropped without an answer: that ends the task instead of keeping it for ever.
      try await delegate.done.wait(within: patience)
      #expect(delegate.summary == ["created", "response", "metrics", "failed -999"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func aSlowDelegateHoldsTheTransferBack() async throws {
    let count: Int64 = 64 << 20
    let release = DispatchSemaphore(value: 0)
    final class Slow: NSObject, URLSessionDataDelegate, @unchecked Sendable {
      let release: DispatchSemaphore
      let first = Gate()
      let done = Gate()
      init(_ release: DispatchSemaphore) { self.release = release }
      func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard !first.isOpen else { return }
        first.open()
        release.wait()
      }
      func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        done.open()
      }
    }
    let sent = Recorder<Int>()
    var reply = Reply.pattern(BytePattern(), count: count)
    reply.onBodySent = { sent.record($0) }
    try await withServer({ [reply] _ in reply }) { server in
      let delegate = Slow(release)
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      let task = session.dataTask(with: server.url())
      task.resume()
      try await delegate.first.wait(within: patience)
      // What the loader takes before it stops is bounded; it stops growing well below the whole.
      var last: Int64 = -1
      try await eventually("the transfer to stop", every: .milliseconds(100)) {
        defer { last = task.countOfBytesReceived }
        return task.countOfBytesReceived == last
      }
      #expect(task.countOfBytesReceived < 4 << 20)
      release.signal()
      try await delegate.done.wait(within: patience)
      #expect(task.countOfBytesReceived == count)
      session.finishTasksAndInvalidate()
    }
  }
}

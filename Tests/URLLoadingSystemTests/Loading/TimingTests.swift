import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct TimingTests {
  @Test(.overHTTP1To3, arguments: ["head", "body"])
  func silenceEndsTheRequest(_ part: String) async throws {
    let reply =
      part == "head" ? Reply.never : Reply([.head(200, fields: [("Content-Length", "10")]), .body("half"), .stall])
    try await withServer({ _ in reply }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 0.2
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
      #expect(error?.code == .timedOut)
      // The sentence says which limit it was.
      let sentence = error?.localizedDescription ?? ""
      #expect(sentence.contains("0.2 seconds") && sentence.contains("timeoutInterval"), "\(sentence)")
    }
  }

  /// Bytes that keep coming keep the idle timer away, however long the whole takes.
  @Test func activityKeepsTheRequestAlive() async throws {
    let steps: [ReplyStep] =
      [.head(200, fields: [("Content-Length", "12")])]
      + (0..<12).flatMap { _ in [ReplyStep.delay(.seconds(1)), .body("x")] }
    try await withServer({ _ in Reply(steps) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 10
      let (data, _) = try await session.data(for: request)
      #expect(data.count == 12)
    }
  }

  /// Every byte counts, also one that completes nothing: of the head, of the line of a chunk, of the trailers.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nX-Filler: 0123456789012345678901234567890\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0000000000000000000000000000000000000000\r\nX: a trailer that takes its time\r\n\r\n",
  ]) func slowBytesKeepTheRequestAlive(_ response: String) async throws {
    let end = response.range(of: "chunked\r\n\r\n")?.upperBound ?? response.startIndex
    let slow = Array(response[end...].utf8).flatMap { [ReplyStep.delay(.milliseconds(80)), .raw([$0])] }
    try await withServer({ _ in Reply([.raw(Array(response[..<end].utf8))] + slow) }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 4
      let (data, _) = try await session.data(for: request)
      #expect(data.isEmpty)
    }
  }

  /// A question that the delegate answers late costs no idle time.
  @Test func timeThatTheDelegateTakesIsNoIdleTime() async throws {
    try await withServer({ _ in .ok("late") }) { server in
      let delegate = LateDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 5
      session.dataTask(with: request).resume()
      let answer = try await delegate.questions.next()
      let since = ContinuousClock.now
      try await eventually("the timeout to have passed") { ContinuousClock.now - since > .seconds(6) }
      answer(.allow)
      let error = try await delegate.ends.next()
      #expect(error == nil, "\(String(describing: error))")
    }
  }

  @Test(.overHTTP1To3) func theResourceTimeoutCountsEverything() async throws {
    let file = FileResource(size: 1 << 40)
    file.update { $0.bytesPerSecond = 100_000 }
    try await withServer({ file.reply(to: $0) }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.timeoutIntervalForResource = 0.4
      let session = URLSession(configuration: configuration)
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url()) }
      #expect(error?.code == .timedOut)
      #expect(error?.localizedDescription.contains("timeoutIntervalForResource") == true)
    }
  }

  /// Time that the app holds the task is no time of the resource's.
  @Test func theResourceTimeoutRestsWhileSuspended() async throws {
    let go = Gate()
    let reply = Reply([
      .head(200, fields: [("Content-Length", "4"), ("Content-Type", "text/plain")]), .waitFor(go), .body("late"),
    ])
    try await withServer({ _ in reply }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.timeoutIntervalForResource = 15
      let delegate = RecordingDelegate()
      delegate.onResponse = { task, _ in
        task.suspend()
        return .allow
      }
      let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      let task = session.dataTask(with: server.url())
      task.resume()
      try await eventually("the task to be suspended") { task.state == .suspended }
      let since = ContinuousClock.now
      try await eventually("the timeout to have passed") { ContinuousClock.now - since > .seconds(15.5) }
      task.resume()
      // Only now the load has bytes to wait for: a timer that had gone on would have ended it.
      go.open()
      try await delegate.done.wait(within: patience)
      #expect(delegate.summary.last == "completed")
    }
  }

  /// A suspended task has no timer, reads nothing, and goes on where it was.
  @Test(.overHTTP1To3) func suspendStopsTheBytesAndTheTimers() async throws {
    let count: Int64 = 64 << 20
    let file = FileResource(size: count)
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 10
      let task = session.dataTask(with: request)
      delegate.onResponse = { task, _ in
        task.suspend()
        return .allow
      }
      task.resume()
      try await eventually("the task to be suspended") { task.state == .suspended }
      // Longer than the timeout: what the socket and its buffers hold arrives, and then nothing.
      // Longer than the request's timeout.
      try await stopsMoving(for: .milliseconds(10_500)) { file.bytesSent }
      #expect(file.bytesSent < count / 2)
      #expect(task.state == .suspended)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.summary.last == "completed")
      #expect(task.countOfBytesReceived == count)
    }
  }
}

/// Keeps the question what becomes of a response for the test to answer.
private final class LateDelegate: NSObject, URLSessionDataDelegate, Sendable {
  let questions = Recorder<@Sendable (URLSession.ResponseDisposition) -> Void>()
  let ends = Recorder<(any Error)?>()

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) { questions.record(completionHandler) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    ends.record(error)
  }
}

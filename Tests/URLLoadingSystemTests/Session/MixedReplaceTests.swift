import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing
import URLLoadingSystem

/// `multipart/x-mixed-replace`: the delegate hears of the response, and then of each part as of a response of its own.
@Suite(.overHTTP1To3) struct MixedReplaceTests {
  private static let type = ("Content-Type", "multipart/x-mixed-replace; boundary=\"next one\"")
  private static let parts = [
    "--next one\r\nContent-Type: text/plain; charset=utf-8\r\nX-Number: 1\r\n\r\nfirst\r\n",
    "--next one\r\nContent-Type: image/jpeg\r\nContent-Length: 6\r\n\r\nsecond\r\n",
    "--next one\r\n\r\n\r\n--next one--\r\n",
  ]

  private func reply() -> Reply { Reply.chunked(MixedReplaceTests.parts, fields: [MixedReplaceTests.type]) }

  @Test func eachPartIsAResponseOfItsOwn() async throws {
    try await withServer({ _ in reply() }) { server in
      let delegate = RecordingDelegate()
      let responses = Recorder<URLResponse>()
      let bodies = Mutex<[String]>([])
      delegate.onResponse = { task, response in
        responses.record(response)
        #expect(task.response === response)
        let body = delegate.received.withLock { received in
          defer { received = Data() }
          return String(decoding: received, as: UTF8.self)
        }
        bodies.withLock { $0.append(body) }
        return .allow
      }
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url("/camera")).resume()
      try await delegate.done.wait(within: patience)
      #expect(
        delegate.summary == [
          "created", "response", "data", "response", "data", "response", "metrics", "completed",
        ])
      #expect(bodies.withLock { $0 } == ["", "", "first", "second"])
      let all = responses.all.compactMap { $0 as? HTTPURLResponse }
      #expect(all.map(\.mimeType) == ["multipart/x-mixed-replace", "text/plain", "image/jpeg", nil])
      #expect(all.map(\.textEncodingName) == [nil, "utf-8", nil, nil])
      #expect(all.map(\.expectedContentLength) == [-1, -1, 6, -1])
      #expect(all.map { $0.value(forHTTPHeaderField: "X-Number") } == [nil, "1", nil, nil])
      #expect(all.allSatisfy { $0.statusCode == 200 && $0.url == server.url("/camera") })
    }
  }

  /// Nothing of a part before the answer about it; the answer about the first does not stand for the second.
  @Test func nothingIsDeliveredBeforeTheAnswer() async throws {
    let answers = Recorder<@Sendable (URLSession.ResponseDisposition) -> Void>()
    final class Slow: NSObject, URLSessionDataDelegate, Sendable {
      let answers: Recorder<@Sendable (URLSession.ResponseDisposition) -> Void>
      let events = Recorder<String>()
      let done = Gate()
      init(_ answers: Recorder<@Sendable (URLSession.ResponseDisposition) -> Void>) { self.answers = answers }
      func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
      ) {
        events.record("response")
        answers.record(completionHandler)
      }
      func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        events.record(String(decoding: data, as: UTF8.self))
      }
      func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        done.open()
      }
    }
    try await withServer({ _ in reply() }) { server in
      let delegate = Slow(answers)
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      var expected: [String] = []
      for body in [nil, "first", "second", nil] {
        let answer = try await answers.next()
        expected.append("response")
        #expect(delegate.events.all == expected)
        answer(.allow)
        if let body { expected.append(body) }
      }
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == expected)
    }
  }

  @Test func aPartCanBeRefused() async throws {
    try await withServer({ _ in reply().followed(by: [.stall]) }) { server in
      let delegate = RecordingDelegate()
      delegate.onResponse = { _, response in response.mimeType == "image/jpeg" ? .cancel : .allow }
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.map(\.code) == [.cancelled])
      #expect(delegate.received.withLock { $0 } == Data("first".utf8))
    }
  }

  /// The download ends with the part, although the server goes on for ever.
  @Test func aPartCanBecomeADownload() async throws {
    let endless = Reply(
      [.head(200, fields: [MixedReplaceTests.type])] + MixedReplaceTests.parts.dropLast().map { .body($0) } + [.stall])
    try await withServer({ _ in endless }) { server in
      let delegate = RecordingDelegate()
      let saved = Mutex(Data())
      let counts = Recorder<[Int64]>()
      delegate.onDownload = { counts.record([$0.countOfBytesReceived, $0.countOfBytesExpectedToReceive]) }
      delegate.onResponse = { _, response in response.mimeType == "image/jpeg" ? .becomeDownload : .allow }
      delegate.onFile = { file in saved.withLock { $0 = (try? Data(contentsOf: file)) ?? Data() } }
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.isEmpty)
      #expect(saved.withLock { $0 } == Data("second".utf8))
      #expect(counts.all == [[6, 6]])
      #expect(delegate.received.withLock { $0 } == Data("first".utf8))
    }
  }

  @Test func otherTasksGetTheBodyAsItIs() async throws {
    try await withServer({ _ in reply() }) { server in
      let session = URLSession(configuration: .loopback)
      defer { session.invalidateAndCancel() }
      let (data, response) = try await session.data(from: server.url())
      #expect(String(decoding: data, as: UTF8.self) == MixedReplaceTests.parts.joined())
      #expect(response.mimeType == "multipart/x-mixed-replace")
    }
  }

  @Test func withoutABoundaryTheBodyIsData() async throws {
    let plain = Reply.ok("--b\r\n\r\n1\r\n--b--", type: "multipart/x-mixed-replace")
    try await withServer({ _ in plain }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.received.withLock { $0 } == Data("--b\r\n\r\n1\r\n--b--".utf8))
    }
  }

  @Test func anEndlessHeadIsAnError() async throws {
    let endless = Reply([
      .head(200, fields: [MixedReplaceTests.type]), .body("--next one\r\n"),
      .body([UInt8](repeating: 0x78, count: 10_000_000)),
    ])
    try await withServer({ _ in endless }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      defer { session.invalidateAndCancel() }
      session.dataTask(with: server.url()).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.map(\.code) == [.cannotParseResponse])
    }
  }
}

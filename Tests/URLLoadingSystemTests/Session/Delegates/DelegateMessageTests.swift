import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct DelegateMessageTests {
  /// Each 1xx response but 101 comes before the final one.
  @Test func informationalResponsesAreTold() async throws {
    final class Hints: NSObject, URLSessionTaskDelegate, Sendable {
      let seen = Recorder<(status: Int, link: String?)>()
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
      ) { seen.record((response.statusCode, response.value(forHTTPHeaderField: "Link"))) }
    }
    let reply = Reply.ok("x").preceded(by: [
      .informational(102), .informational(103, fields: [("Link", "</a>; rel=preload")]), .informational(199),
    ])
    try await withServer({ _ in reply }) { server in
      let hints = Hints()
      let session = URLSession(configuration: .ephemeral)
      let (data, _) = try await session.data(from: server.url(), delegate: hints)
      #expect(data == Data("x".utf8))
      #expect(hints.seen.all.map(\.status) == [102, 103, 199])
      #expect(hints.seen.all.map(\.link) == [nil, "</a>; rel=preload", nil])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aDownloadOfUnknownLengthSaysSo() async throws {
    final class Progress: NSObject, URLSessionDownloadDelegate, Sendable {
      let writes = Recorder<[Int64]>()
      let file = Recorder<URL>()
      func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
      ) { writes.record([bytesWritten, totalBytesWritten, totalBytesExpectedToWrite]) }
      func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
      ) { file.record(location) }
    }
    let count: Int64 = 3_000_000
    try await withServer({ request in
      request.path == "/known"
        ? .pattern(BytePattern(), count: count) : .chunked(BytePattern(), count: count, each: 50_000)
    }) { server in
      for (path, expected) in [("/known", count), ("/unknown", NSURLSessionTransferSizeUnknown)] {
        let progress = Progress()
        let session = URLSession(configuration: .ephemeral, delegate: progress, delegateQueue: nil)
        session.downloadTask(with: server.url(path)).resume()
        _ = try await progress.file.next()
        let writes = progress.writes.all
        #expect(writes.map { $0[0] }.reduce(0, +) == count && writes.last?[1] == count)
        #expect(writes.allSatisfy { $0[2] == expected })
        session.finishTasksAndInvalidate()
      }
    }
  }

  /// A replacement for a delayed request may not open networks that the original excludes; none at all is a no.
  @Test func aReplacedRequestKeepsTheOriginalsNetworks() async throws {
    let delegate = RecordingDelegate()
    let other = try textURL("other")
    delegate.onDelayed = { _ in (.useNewRequest, URLRequest(url: other)) }
    let session = URLSession.recording(delegate)
    var request = URLRequest(url: try textURL("x"))
    request.allowsCellularAccess = false
    request.allowsExpensiveNetworkAccess = false
    request.allowsConstrainedNetworkAccess = false
    let task = session.dataTask(with: request)
    task.earliestBeginDate = .distantPast
    task.resume()
    try await delegate.done.wait(within: patience)
    let current = try #require(task.currentRequest)
    #expect(current.url == other && task.originalRequest == request)
    #expect(!current.allowsCellularAccess && !current.allowsExpensiveNetworkAccess)
    #expect(!current.allowsConstrainedNetworkAccess)
    session.finishTasksAndInvalidate()
  }

  /// A redirect that is refused is the result, with its own body.
  @Test func aRefusedRedirectIsTheResult() async throws {
    try await withServer({ _ in
      .status(302, fields: [("Location", "/next")], body: "moved")
    }) { server in
      let delegate = RecordingDelegate()
      delegate.onRedirect = { _ in nil }
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url("/first"))
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect((task.response as? HTTPURLResponse)?.statusCode == 302)
      #expect(delegate.received.withLock { $0 } == Data("moved".utf8))
      #expect(task.currentRequest?.url == server.url("/first") && task.error == nil)
      #expect(server.requests.count == 1)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aChangedRedirectIsFollowed() async throws {
    try await withServer({ $0.path == "/first" ? .redirect(to: "/next") : .ok($0.value("X-Added") ?? "") }) { server in
      let delegate = RecordingDelegate()
      delegate.onRedirect = { request in
        var changed = request
        changed.url = server.url("/elsewhere")
        changed.setValue("yes", forHTTPHeaderField: "X-Added")
        return changed
      }
      let session = URLSession.recording(delegate)
      let (data, response) = try await session.data(from: server.url("/first"))
      #expect(data == Data("yes".utf8) && response.url == server.url("/elsewhere"))
      session.finishTasksAndInvalidate()
    }
  }

  /// Metrics are of the task they are told for, and come once.
  @Test func metricsTellOfEachHop() async throws {
    try await withServer({ $0.path == "/end" ? .ok("body") : .redirect(to: "/end") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let before = Date()
      session.dataTask(with: server.url("/begin")).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.metrics.count == 1)
      let metrics = try #require(delegate.metrics.all.first)
      #expect(metrics.redirectCount == 1)
      // Wall clock here, monotonic clock there.
      #expect(metrics.taskInterval.start >= before - 1 && metrics.taskInterval.end <= Date() + 1)
      #expect(metrics.transactionMetrics.map(\.request.url?.path) == ["/begin", "/end"])
      let codes = metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
      #expect(codes == [302, 200])
      session.finishTasksAndInvalidate()
    }
  }
}

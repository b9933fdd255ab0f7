import EveryVersion
import Foundation
import HTTPSemantics
import LoopbackServer
import Synchronization
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A task that is cancelled after its load has read everything, and before the app was told of the end: nothing more is
/// delivered, and the task ends as cancelled.
@Suite struct LateCancellationTests {
  enum Kind: CaseIterable, Sendable { case data, upload, download }

  /// Cancels its task when the first bytes are told and the load is over.
  private final class Canceller: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {
    let events = Recorder<String>()
    let states = Recorder<URLSessionTask.State>()
    let done = Gate()
    /// Opened when the first bytes are told.
    let first = Gate()

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      events.record("data")
      cancel(dataTask)
    }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
      events.record("written")
      cancel(downloadTask)
    }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) { events.record("file") }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      events.record("ended \((error as? URLError)?.code.rawValue ?? 0)")
      states.record(task.state)
      done.open()
    }

    private func cancel(_ task: URLSessionTask) {
      first.open()
      blockUntilLoadEnds(of: task)
      states.record(task.state)
      task.cancel()
      states.record(task.state)
    }
  }

  @Test(.overHTTP1To3, arguments: Kind.allCases) func nothingComesAfterCancel(_ kind: Kind) async throws {
    let delegate = Canceller()
    let reply = Reply([
      .head(200, fields: [("Content-Length", "150000")]), .pattern(BytePattern(), count: 50_000),
      kind == .download ? .body("") : .waitFor(delegate.first), .pattern(BytePattern(), count: 100_000),
    ])
    try await withServer({ _ in reply }) { server in
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      var request = URLRequest(url: server.url())
      let task: URLSessionTask
      switch kind {
      case .data: task = session.dataTask(with: request)
      case .download: task = session.downloadTask(with: request)
      case .upload:
        request.httpMethod = "PUT"
        task = session.uploadTask(with: request, from: Data(count: 1000))
      }
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == [kind == .download ? "written" : "data", "ended -999"])
      #expect(delegate.states.all == [.running, .canceling, .completed])
      #expect((task.error as? URLError)?.failingURL == server.url())
      session.finishTasksAndInvalidate()
    }
  }

  enum Handler: CaseIterable, Sendable { case data, upload, download }

  @Test(.overHTTP1To3, arguments: Handler.allCases)
  func completionHandlersGetTheCancellation(_ handler: Handler) async throws {
    try await withServer({ _ in .ok("whole") }) { server in
      let queue = serialQueue()
      queue.isSuspended = true
      let session = URLSession(configuration: .loopback, delegate: nil, delegateQueue: queue)
      var request = URLRequest(url: server.url())
      let ends = Recorder<String>()
      let task: URLSessionTask
      switch handler {
      case .data: task = session.dataTask(with: request) { ends.record(describe($0, $2)) }
      case .download: task = session.downloadTask(with: request) { ends.record(describe($0, $2)) }
      case .upload:
        request.httpMethod = "PUT"
        task = session.uploadTask(with: request, from: Data(count: 9)) { ends.record(describe($0, $2)) }
      }
      task.resume()
      try await eventually("the load to end") { task.loadHasEnded }
      #expect(task.state == .running)
      task.cancel()
      #expect(task.state == .canceling)
      queue.isSuspended = false
      let end = try await ends.next()
      #expect(end == "nothing, -999")
      #expect(task.state == .completed)
      session.finishTasksAndInvalidate()
    }
  }

  /// Remembers the task of an `async` call, whose metrics wait in the delegate queue, and its end behind them.
  private final class MetricsReader: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    let tasks = Recorder<URLSessionTask>()
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { tasks.record(task) }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {}
  }

  @Test(.overHTTP1To3, arguments: Kind.allCases) func asyncCallsThrowTheCancellation(_ kind: Kind) async throws {
    try await withServer({ _ in .ok("whole") }) { server in
      let (queue, delegate) = (serialQueue(), MetricsReader())
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: queue)
      // The connection is made, and its server judged, while the delegate can be asked.
      _ = try await session.data(from: server.url())
      _ = try await delegate.tasks.next()
      queue.isSuspended = true
      var request = URLRequest(url: server.url())
      if kind == .upload { request.httpMethod = "PUT" }
      let final = request
      let call = Task {
        switch kind {
        case .data: _ = try await session.data(for: final)
        case .upload: _ = try await session.upload(for: final, from: Data(count: 9))
        case .download: _ = try await session.download(for: final)
        }
      }
      let task = try await delegate.tasks.next()
      try await eventually("the load to end") { task.loadHasEnded }
      call.cancel()
      queue.isSuspended = false
      let error = await #expect(throws: URLError.self) { try await call.value }
      #expect(error?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func bytesThatWaitAreNotRead() async throws {
    try await withServer({ _ in .ok("whole") }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      try await eventually("the load to end") { bytes.task.loadHasEnded }
      #expect(bytes.task.state == .running)
      bytes.task.cancel()
      #expect(bytes.task.state == .completed)
      var count = 0
      let error = await #expect(throws: URLError.self) { for try await _ in bytes { count += 1 } }
      #expect(error?.code == .cancelled && count == 0)
      session.finishTasksAndInvalidate()
    }
  }

  /// Bytes that were all read end the task where the reader sees the end.
  @Test(.overHTTP1To3) func theTaskOfBytesEndsWithItsReader() async throws {
    try await withServer({ _ in .ok("whole") }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var count = 0
      for try await _ in bytes { count += 1 }
      #expect(count == 5 && bytes.task.state == .completed && bytes.task.error == nil)
      session.finishTasksAndInvalidate()
    }
  }

  /// What has arrived whole is not lost to an app that only wanted to pause.
  @Test func resumeDataOfAWholeDownloadIsItsFile() async throws {
    let (session, queue, delegate) = recordingSession()
    let task = session.downloadTask(with: try textURL("x"))
    let file = try newFile()
    let seen = Recorder<Bool>()
    delegate.onFile = { seen.record(FileManager.default.fileExists(atPath: $0.path)) }
    end(task, of: session, .success(.file(file)))
    let answers = Recorder<Data?>()
    task.cancel { answers.record($0) }
    queue.isSuspended = false
    try await delegate.done.wait(within: patience)
    let answer = try await answers.next()
    #expect(answer == nil)
    #expect(seen.all == [true] && delegate.errors.all.isEmpty)
    session.finishTasksAndInvalidate()
  }

  @Test func theFileOfACancelledDownloadIsRemoved() async throws {
    let (session, queue, delegate) = recordingSession()
    let task = session.downloadTask(with: try textURL("x"))
    let file = try newFile()
    end(task, of: session, .success(.file(file)))
    task.cancel()
    queue.isSuspended = false
    try await delegate.done.wait(within: patience)
    #expect(delegate.summary == ["created", "metrics", "failed -999"])
    #expect(!FileManager.default.fileExists(atPath: file.path))
    session.finishTasksAndInvalidate()
  }

  /// A failure that was on its way: `cancel()` gives up what a later task could go on with.
  @Test(arguments: [false, true]) func aFailureOnItsWayBecomesTheCancellation(resumeDataIsAskedFor: Bool) async throws {
    let (session, queue, delegate) = recordingSession()
    let url = try #require(URL(string: "http://localhost/file"))
    let task = session.downloadTask(with: url)
    let file = try newFile()
    let request = RequestDescription(URLRequest(url: url))
    let data = DownloadResumeData(
      originalRequest: request, currentRequest: request, bytesReceived: 3, expectedTotal: nil,
      validator: ResumeValidator(entityTag: "\"1\"", lastModified: nil, isLastModifiedStrong: false),
      fileName: file.lastPathComponent
    ).encoded()
    let failure = URLError(.networkConnectionLost).adding(data, forKey: NSURLSessionDownloadTaskResumeData)
    end(task, of: session, .failure(failure))
    if resumeDataIsAskedFor {
      let answers = Recorder<Data?>()
      task.cancel { answers.record($0) }
      queue.isSuspended = false
      let answer = try await answers.next()
      #expect(answer == data)
    } else {
      task.cancel()
      queue.isSuspended = false
    }
    try await delegate.done.wait(within: patience)
    let error = try #require(delegate.errors.all.first)
    #expect(error.code == (resumeDataIsAskedFor ? .networkConnectionLost : .cancelled))
    #expect((error.downloadTaskResumeData != nil) == resumeDataIsAskedFor)
    #expect(FileManager.default.fileExists(atPath: file.path) == resumeDataIsAskedFor)
    try? FileManager.default.removeItem(at: file)
    session.finishTasksAndInvalidate()
  }

  private func recordingSession() -> (URLSession, OperationQueue, RecordingDelegate) {
    let (queue, delegate) = (serialQueue(), RecordingDelegate())
    queue.isSuspended = true
    return (URLSession.recording(delegate, queue: queue), queue, delegate)
  }

  private func newFile() throws -> URL {
    TemporaryFile.directory.appendingPathComponent(try TemporaryFile.keep(Data("abc".utf8)), isDirectory: false)
  }

  /// Ends a task that was never started as its load would.
  private func end(_ task: URLSessionTask, of session: URLSession, _ result: Result<Received, any Error>) {
    task.finish(result, delivery: session.makeDelivery(for: task), transactions: [])
  }
}

/// Blocks the delegate queue until the load of `task` has ended.
private func blockUntilLoadEnds(of task: URLSessionTask) {
  let deadline = ContinuousClock.now + patience
  while !task.loadHasEnded, ContinuousClock.now < deadline { usleep(500) }
}

extension URLSessionTask {
  fileprivate var loadHasEnded: Bool { lockedState.withLock { $0.hasWorkEnded } }
}

private func describe(_ value: (some Any)?, _ error: (any Error)?) -> String {
  "\(value == nil ? "nothing" : "something"), \((error as? URLError)?.code.rawValue ?? 0)"
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct CancellationTests {
  /// When the task is cancelled.
  enum Moment: CaseIterable, Sendable {
    case beforeResume, suspended, rightAfterResume, waitingForResponse, inResponse, inBody, whileAsked, delayed, ended
  }

  @Test(.overHTTP1To3, arguments: Moment.allCases)
  func endsTheTaskOnce(_ moment: Moment) async throws {
    let reply = Reply([.head(200, fields: [("Content-Length", "8")]), .body("half"), .stall])
    try await withServer({ _ in
      switch moment {
      case .ended: .ok("done")
      case .inBody, .inResponse, .whileAsked: reply
      default: .never
      }
    }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url())
      // Kept unanswered: cancelling must get through nonetheless.
      let kept = HandlerKeeper()
      var taskDelegate: (any URLSessionTaskDelegate)?
      if moment == .whileAsked { taskDelegate = kept }
      task.delegate = taskDelegate
      if moment == .delayed { task.earliestBeginDate = .distantFuture }
      if moment == .inResponse {
        delegate.onResponse = { task, _ in
          task.cancel()
          return .allow
        }
      }
      if moment != .beforeResume { task.resume() }
      switch moment {
      case .suspended:
        _ = try await server.nextRequest()
        task.suspend()
      case .waitingForResponse: _ = try await server.nextRequest()
      case .inBody: _ = try await delegate.events.first(3)
      case .whileAsked: try await kept.asked.wait(within: patience)
      case .ended: try await delegate.done.wait(within: patience)
      default: break
      }
      task.cancel()
      task.cancel()
      try await delegate.done.wait(within: patience)
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      #expect(task.state == .completed)
      let ends = delegate.events.all.filter { $0.hasPrefix("failed") || $0 == "completed" }
      #expect(ends == [moment == .ended ? "completed" : "failed -999"])
      #expect(delegate.events.all.suffix(2) == [ends[0], "invalid"])
      if moment != .ended {
        #expect(delegate.errors.all.first?.userInfo[NSURLErrorFailingURLErrorKey] as? URL == server.url())
      }
      kept.forget()
    }
  }

  @Test func completionHandlersGetTheError() async throws {
    let url = try textURL("x")
    let session = URLSession(configuration: .loopback)
    let seen = Recorder<URLError.Code?>()
    let task = session.dataTask(with: url) { data, response, error in
      #expect(data == nil && response == nil)
      seen.record((error as? URLError)?.code)
    }
    task.cancel()
    #expect(try await seen.next() == .cancelled)
    let download = session.downloadTask(with: url) { file, _, error in
      #expect(file == nil)
      seen.record((error as? URLError)?.code)
    }
    download.cancel()
    download.resume()
    #expect(try await seen.next() == .cancelled)
    session.finishTasksAndInvalidate()
  }

  @Test(.overHTTP1To3) func swiftTasksCancelBeforeAndAfterTheStart() async throws {
    try await withServer({ _ in .never }) { server in
      let session = URLSession(configuration: .loopback)
      let url = server.url()
      let early = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await session.data(from: url)
      }
      #expect(try await codeOfFailure(early) == .cancelled)
      #expect(server.requests.isEmpty)

      let late = Task { try await session.data(from: url) }
      _ = try await server.nextRequest()
      late.cancel()
      #expect(try await codeOfFailure(late) == .cancelled)

      let download = Task { try await session.download(from: url) }
      _ = try await server.nextRequest()
      download.cancel()
      #expect(try await codeOfFailure(download) == .cancelled)

      let bytes = Task { try await session.bytes(from: url) }
      _ = try await server.nextRequest()
      bytes.cancel()
      #expect(try await codeOfFailure(bytes) == .cancelled)
      #expect(await session.allTasks.isEmpty)
      session.finishTasksAndInvalidate()
    }
  }

  /// The load's own end, cancelling, suspending and resuming race each other from many threads: every task must end
  /// exactly once.
  @Test func everyOrderEnds() async throws {
    let delegate = RecordingDelegate()
    let session = URLSession.recording(delegate)
    let url = try textURL("x")
    let count = 500
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count {
        let task = session.dataTask(with: url)
        for step in [0, 1, 2, 0, 1].shuffled() {
          group.addTask {
            switch step {
            case 0: task.resume()
            case 1: task.cancel()
            default: task.suspend()
            }
          }
        }
      }
    }
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
    let ends = delegate.events.all.filter { $0.hasPrefix("failed") || $0 == "completed" }
    #expect(ends.count == count)
  }
}

extension CancellationTests {
  enum Call: Int, CaseIterable, Sendable { case data, upload, download, bytes }

  /// Swift tasks are cancelled at every moment of every kind of call: before it, while the URL task is made, on its way
  /// to a connection, in the response, and when it is over. Every call returns, and nothing is left.
  @Test(arguments: Call.allCases) func everyCallReturnsWheneverItIsCancelled(_ call: Call) async throws {
    let reply = Reply([
      .head(200, fields: [("Content-Length", "20000")]), .body(String(repeating: "a", count: 10_000)),
      .body(String(repeating: "b", count: 10_000)),
    ])
    try await withServer({ _ in reply }) { server in
      let session = URLSession(configuration: .ephemeral)
      let (url, count) = (server.url(), 200)
      var request = URLRequest(url: url)
      request.httpMethod = "PUT"
      let (put, ends) = (request, Recorder<Bool>())
      for number in 0..<count {
        let task = Task {
          do {
            switch call {
            case .data: _ = try await session.data(from: url)
            case .upload: _ = try await session.upload(for: put, from: Data(count: 100_000))
            case .download:
              let (file, _) = try await session.download(from: url)
              try FileManager.default.removeItem(at: file)
            case .bytes: for try await _ in try await session.bytes(from: url).0 {}
            }
            ends.record(true)
          } catch { ends.record((error as? URLError)?.code == .cancelled) }
        }
        // At once, after more and more turns of the scheduler, or when others have come further.
        switch number % 4 {
        case 0: task.cancel()
        case 1, 2:
          Task {
            for _ in 0..<(number * 3) { await Task.yield() }
            task.cancel()
          }
        default:
          if number % 8 == 3 {
            let turns = number / 2
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(turns * 50)) { task.cancel() }
          }
        }
      }
      let all = try await ends.first(count)
      #expect(all.allSatisfy { $0 })
      #expect(await session.allTasks.isEmpty)
      session.finishTasksAndInvalidate()
    }
  }

  /// Cancelling, suspending and asking for resume data from everywhere at once, on tasks that upload, download or wait.
  @Test func everyMixtureEndsOnce() async throws {
    let gate = Gate()
    try await withServer({ _ in
      Reply([
        .head(200, fields: [("Content-Length", "10"), ("ETag", "\"1\"")]), .body("12345"), .waitFor(gate),
        .body("67890"),
      ])
    }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      var post = URLRequest(url: server.url())
      post.httpMethod = "POST"
      let (answers, count) = (Recorder<Data?>(), 60)
      let tasks: [URLSessionTask] = (0..<count).map { number in
        switch number % 3 {
        case 0: session.dataTask(with: server.url())
        case 1: session.downloadTask(with: server.url())
        default: session.uploadTask(with: post, from: Data(count: 200_000))
        }
      }
      await withTaskGroup(of: Void.self) { group in
        for task in tasks {
          for step in [0, 1, 2, 3, 4, 5].shuffled() {
            group.addTask {
              switch step {
              case 0, 1: task.resume()
              case 2: task.suspend()
              case 3: task.priority = 1
              case 4: task.progress.cancel()
              default:
                if let task = task as? URLSessionDownloadTask {
                  task.cancel { answers.record($0) }
                } else if let task = task as? URLSessionUploadTask {
                  task.cancel { answers.record($0) }
                } else {
                  task.cancel()
                }
              }
            }
          }
        }
      }
      gate.open()
      session.invalidateAndCancel()
      try await delegate.invalid.wait(within: patience)
      _ = try await answers.first(count / 3 * 2)
      let ends = delegate.events.all.filter { $0.hasPrefix("failed") || $0 == "completed" }
      #expect(ends.count == count)
      #expect(delegate.events.all.last == "invalid")
    }
  }
}

/// The code of the `URLError` that `task` throws; nil when it succeeds.
private func codeOfFailure<Value>(_ task: Task<Value, any Error>) async throws -> URLError.Code? {
  do { _ = try await task.value } catch let error as URLError { return error.code }
  return nil
}

/// Is asked about the response and keeps the handler without calling it.
private final class HandlerKeeper: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  let asked = Gate()
  private var handler: (@Sendable (URLSession.ResponseDisposition) -> Void)?

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    handler = completionHandler
    asked.open()
  }

  func forget() {
    handler?(.allow)
    handler?(.allow)
    handler = nil
  }
}

import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct SessionLifeTests {
  @Test func theEndOfTheSessionComesLast() async throws {
    let go = Gate()
    try await withServer({ _ in Reply.ok("x").preceded(by: [.waitFor(go)]) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      for _ in 0..<3 { session.dataTask(with: server.url()).resume() }
      session.finishTasksAndInvalidate()
      #expect(!delegate.invalid.isOpen)
      #expect(await session.allTasks.count == 3)
      go.open()
      try await delegate.invalid.wait(within: patience)
      #expect(delegate.events.all.filter { $0 == "completed" }.count == 3)
      #expect(delegate.events.all.last == "invalid")
    }
  }

  @Test func invalidateAndCancelEndsWhatRuns() async throws {
    try await withServer({ _ in .never }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let running = session.dataTask(with: server.url())
      running.resume()
      let suspended = session.dataTask(with: server.url())
      session.invalidateAndCancel()
      try await delegate.invalid.wait(within: patience)
      #expect(delegate.events.all.filter { $0 == "failed -999" }.count == 2)
      #expect(delegate.events.all.last == "invalid")
      #expect(running.state == .completed && suspended.state == .completed)
    }
  }

  @Test func aDroppedTaskDoesNotKeepTheSessionFromEnding() async throws {
    let delegate = RecordingDelegate()
    let session = URLSession.recording(delegate)
    var task: URLSessionTask? = session.dataTask(with: try textURL("x"))
    session.finishTasksAndInvalidate()
    #expect(!delegate.invalid.isOpen)
    #expect(task != nil)
    task = nil
    try await delegate.invalid.wait(within: patience)
  }

  @Test func sessionDelegateAndQueueAreReleased() async throws {
    weak var session: URLSession?
    weak var delegate: RecordingDelegate?
    weak var queue: OperationQueue?
    let invalid: Gate
    do {
      let strongDelegate = RecordingDelegate()
      let strongQueue = serialQueue()
      let strongSession = URLSession.recording(strongDelegate, queue: strongQueue)
      (session, delegate, queue, invalid) = (strongSession, strongDelegate, strongQueue, strongDelegate.invalid)
      strongSession.dataTask(with: try textURL("x")).resume()
      strongSession.finishTasksAndInvalidate()
    }
    try await invalid.wait(within: patience)
    try await eventually("everything to be released") { session == nil && delegate == nil && queue == nil }
  }

  @Test func aSessionThatIsOnlyDroppedIsReleasedAfterItsLastTask() async throws {
    weak var session: URLSession?
    let ended = Gate()
    do {
      let strong = URLSession(configuration: .ephemeral)
      session = strong
      strong.dataTask(with: try textURL("x")) { data, _, _ in
        #expect(data == Data("x".utf8))
        ended.open()
      }.resume()
    }
    try await ended.wait(within: patience)
    try await eventually("the session to be released") { session == nil }
  }

  @Test func aTaskOnAnInvalidSessionFails() async throws {
    let session = URLSession(configuration: .ephemeral)
    let url = try textURL("x")
    session.invalidateAndCancel()
    let seen = Recorder<URLError.Code?>()
    session.dataTask(with: url) { _, _, error in seen.record((error as? URLError)?.code) }.resume()
    #expect(try await seen.next() == .cancelled)
    await #expect(throws: URLError.self) { try await session.data(from: url) }
    await #expect(throws: URLError.self) { try await session.bytes(from: url) }
    session.downloadTask(with: url).resume()
  }

  @Test func theSharedSessionCannotBeInvalidated() async throws {
    URLSession.shared.invalidateAndCancel()
    URLSession.shared.finishTasksAndInvalidate()
    let (data, response) = try await URLSession.shared.data(from: try textURL("alive"))
    #expect(data == Data("alive".utf8))
    #expect(response.mimeType == "text/plain")
    #expect(URLSession.shared === URLSession.shared)
  }

  @Test func configurationsAreCopied() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 11
    let session = URLSession(configuration: configuration)
    configuration.timeoutIntervalForRequest = 22
    session.configuration.timeoutIntervalForRequest = 33
    #expect(session.configuration.timeoutIntervalForRequest == 11)
    session.sessionDescription = "label"
    #expect(session.sessionDescription == "label")
  }

  @Test func tasksAreListedByKindUntilTheyEnd() async throws {
    let session = URLSession(configuration: .ephemeral)
    let url = try textURL("x")
    let data = session.dataTask(with: url)
    let upload = session.uploadTask(with: URLRequest(url: url), from: Data())
    let download = session.downloadTask(with: url)
    #expect(await session.allTasks.isEmpty)
    // A task that was resumed is listed until it ends, suspended or not. These wait for their date.
    for task in [data, upload, download] {
      task.earliestBeginDate = .distantFuture
      task.resume()
    }
    upload.suspend()
    let tasks = await session.tasks
    #expect(tasks.0 == [data] && tasks.1 == [upload] && tasks.2 == [download])
    #expect(await session.allTasks == [data, upload, download])
    data.cancel()
    #expect(await session.allTasks == [upload, download])
    session.invalidateAndCancel()
    #expect(await session.allTasks.isEmpty)
  }

  /// A task that was cancelled has not ended yet, but there is nothing more to come of it.
  @Test func cancelledTasksAreNotListed() async throws {
    try await withServer({ _ in .never }) { server in
      let session = URLSession(configuration: .ephemeral)
      let ended = Recorder<String?>()
      let task = session.dataTask(with: server.url()) { ended.record($2?.localizedDescription) }
      task.resume()
      _ = try await server.nextRequest()
      #expect(await session.allTasks == [task])
      session.invalidateAndCancel()
      #expect(await session.allTasks.isEmpty)
      #expect(try await ended.next() == "cancelled")
    }
  }

  @Test func flushMakesNewConnections() async throws {
    try await withServer({ _ in .ok("x") }) { server in
      let session = URLSession(configuration: .ephemeral)
      _ = try await session.data(from: server.url())
      _ = try await session.data(from: server.url())
      #expect(server.connectionCount == 1)
      await session.flush()
      _ = try await session.data(from: server.url())
      #expect(server.connectionCount == 2)
      await session.reset()
      _ = try await session.data(from: server.url())
      #expect(server.connectionCount == 3)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func handlersRunOnTheDelegateQueue() async throws {
    let queue = serialQueue()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    #expect(session.delegateQueue === queue)
    let seen = Recorder<Bool>()
    session.dataTask(with: try textURL("x")) { _, _, _ in seen.record(OperationQueue.current === queue) }.resume()
    #expect(try await seen.next())
    session.finishTasksAndInvalidate()
  }
}

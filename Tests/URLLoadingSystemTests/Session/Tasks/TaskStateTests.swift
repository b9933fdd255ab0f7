import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

@Suite(.overHTTP1To3) struct TaskStateTests {
  enum Step: Sendable { case resume, suspend, cancel }

  struct Case: Sendable, CustomTestStringConvertible {
    let steps: [Step]
    let state: URLSessionTask.State
    var testDescription: String { "\(steps)" }
  }

  static let cases = [
    Case(steps: [], state: .suspended),
    Case(steps: [.resume], state: .running),
    Case(steps: [.resume, .resume], state: .running),
    Case(steps: [.resume, .suspend], state: .suspended),
    Case(steps: [.resume, .suspend, .resume], state: .running),
    Case(steps: [.resume, .suspend, .suspend, .resume], state: .suspended),
    Case(steps: [.resume, .suspend, .suspend, .resume, .resume], state: .running),
    Case(steps: [.suspend, .resume], state: .suspended),
    Case(steps: [.suspend, .resume, .resume], state: .running),
    Case(steps: [.resume, .resume, .suspend], state: .suspended),
  ]

  /// The server never answers, so a task stays in the state it was brought to.
  @Test(arguments: cases)
  func suspensionsNest(_ test: Case) async throws {
    try await withServer({ _ in .never }) { server in
      let session = URLSession(configuration: .loopback)
      let task = session.dataTask(with: server.url()) { _, _, _ in }
      for step in test.steps {
        switch step {
        case .resume: task.resume()
        case .suspend: task.suspend()
        case .cancel: task.cancel()
        }
      }
      #expect(task.state == test.state)
      session.invalidateAndCancel()
    }
  }

  @Test func aSuspendedTaskGoesOnWhereItStopped() async throws {
    let half = Gate()
    let reply = Reply([
      .head(200, fields: [("Content-Length", "8")]), .body("half"), .waitFor(half), .body("half"),
    ])
    try await withServer({ _ in reply }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = session.dataTask(with: server.url())
      task.resume()
      _ = try await delegate.events.first(3)
      task.suspend()
      task.suspend()
      half.open()
      task.resume()
      #expect(task.state == .suspended)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(task.state == .completed)
      #expect(delegate.received.withLock { $0 } == Data("halfhalf".utf8))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aSuspendedTaskDoesNotTimeOut() async throws {
    let go = Gate()
    try await withServer({ _ in Reply.ok("late").preceded(by: [.waitFor(go)]) }) { server in
      let configuration = URLSessionConfiguration.loopback
      configuration.timeoutIntervalForRequest = 6
      let session = URLSession(configuration: configuration)
      let ended = Gate()
      let task = session.dataTask(with: server.url()) { _, _, _ in ended.open() }
      task.resume()
      task.suspend()
      // A second task on the same session does time out meanwhile: the clock is running.
      await #expect(throws: URLError.self) { try await session.data(from: server.url()) }
      #expect(!ended.isOpen)
      #expect(task.state == .suspended)
      go.open()
      task.resume()
      try await ended.wait(within: patience)
      #expect(task.error == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func identifiersAndDefaults() throws {
    let session = URLSession(configuration: .loopback)
    let url = try textURL("x")
    let first = session.dataTask(with: url)
    let second = session.downloadTask(with: url)
    #expect(first.taskIdentifier == 1)
    #expect(second.taskIdentifier == 2)
    #expect(first.priority == URLSessionTask.defaultPriority)
    #expect(first.countOfBytesExpectedToSend == 0)
    #expect(first.countOfBytesExpectedToReceive == NSURLSessionTransferSizeUnknown)
    #expect(first.countOfBytesClientExpectsToSend == NSURLSessionTransferSizeUnknown)
    #expect(first.prefersIncrementalDelivery)
    #expect(!second.prefersIncrementalDelivery)
    #expect(first.originalRequest?.url == url)
    #expect(first.currentRequest?.url == url)
    #expect(first.response == nil)
    #expect((first.copy() as? URLSessionDataTask) === first)
    first.priority = 7
    #expect(first.priority == 1)
    let upload = session.uploadTask(with: URLRequest(url: url), from: Data(count: 5))
    #expect(upload.countOfBytesExpectedToSend == 5)
    #expect(
      session.uploadTask(withStreamedRequest: URLRequest(url: url)).countOfBytesExpectedToSend
        == NSURLSessionTransferSizeUnknown)
  }

  @Test func progressCountsAndSteers() async throws {
    try await withServer({ $0.path == "/never" ? .never : .ok("12345") }) { server in
      let session = URLSession(configuration: .loopback)
      let ended = Gate()
      let task = session.dataTask(with: server.url()) { _, _, _ in ended.open() }
      let progress = task.progress
      #expect(progress.isIndeterminate)
      task.resume()
      try await ended.wait(within: patience)
      #expect(progress.totalUnitCount == 5)
      #expect(progress.completedUnitCount == 5)
      #expect(progress.isFinished)

      let cancelled = Gate()
      let stuck = session.dataTask(with: server.url("/never")) { _, _, _ in cancelled.open() }
      stuck.resume()
      stuck.progress.pause()
      try await eventually("the task to pause") { stuck.state == .suspended }
      stuck.progress.resume()
      try await eventually("the task to go on") { stuck.state == .running }
      stuck.progress.cancel()
      try await cancelled.wait(within: patience)
      #expect((stuck.error as? URLError)?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }

  /// The length is a number of HTTP, but no file has it.
  @Test func progressIsIndeterminateWhereTheServerNamesTheGreatestLength() async throws {
    let reply = Reply([.head(200, fields: [("Content-Length", "9223372036854775807")]), .body("x"), .stall])
    try await withServer({ _ in reply }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let task = session.uploadTask(with: request, from: Data(count: 5))
      let progress = task.progress
      task.resume()
      try await eventually("the first byte") { task.countOfBytesReceived == 1 }
      try await eventually("the byte to be counted") { progress.completedUnitCount == 6 }
      #expect(progress.isIndeterminate)
      session.invalidateAndCancel()
    }
  }

  @Test func progressShowsWhatIsDoneToTheTask() async throws {
    try await withServer({ _ in .never }) { server in
      let session = URLSession(configuration: .loopback)
      let ended = Gate()
      let task = session.dataTask(with: server.url()) { _, _, _ in ended.open() }
      let progress = task.progress
      #expect(!progress.isPaused && progress.isPausable && progress.isCancellable)
      task.resume()
      #expect(!progress.isPaused)
      task.suspend()
      #expect(progress.isPaused)
      // What the app paused, whoever holds the progress can resume.
      progress.resume()
      try await eventually("the task to go on") { task.state == .running }
      // And the other way round.
      progress.pause()
      try await eventually("the task to pause") { task.state == .suspended }
      task.resume()
      #expect(!progress.isPaused && task.state == .running)
      // Progress further up includes this one.
      let whole = Progress(totalUnitCount: 1)
      whole.addChild(progress, withPendingUnitCount: 1)
      whole.pause()
      try await eventually("the task to pause") { task.state == .suspended }
      whole.resume()
      try await eventually("the task to go on") { task.state == .running }
      // Handlers of a quick change may run in the wrong order.
      for _ in 0..<50 {
        progress.pause()
        progress.resume()
      }
      task.suspend()
      task.resume()
      try await eventually("the task to go on") { task.state == .running && !progress.isPaused }
      task.cancel()
      #expect(progress.isCancelled)
      try await ended.wait(within: patience)
      session.finishTasksAndInvalidate()
    }
  }

  /// The app pauses and resumes the object on one thread while its handlers run on others.
  @Test(arguments: [[true, false, true], [true, true, false], [false, true, false], [false, false, true]])
  func whatIsWrittenDownOfTheProgressIsWhatTheTaskDoes(shown: [Bool]) {
    var state = TaskState(session: nil, request: nil, recipient: .delegates)
    let before = state.suspensions
    state.progress = ChangingProgress(shown)
    _ = state.followProgress()
    #expect(state.suspensions == before + (state.isPausedByProgress ? 1 : 0))
  }

  /// Shows another value each time it is asked, as if the app changed it in between.
  private final class ChangingProgress: Progress, @unchecked Sendable {
    private let shown: Mutex<[Bool]>

    init(_ shown: [Bool]) {
      self.shown = Mutex(shown)
      super.init(parent: nil, userInfo: nil)
    }

    override var isPaused: Bool {
      get { shown.withLock { $0.isEmpty ? false : $0.removeFirst() } }
      set {}
    }
  }

  @Test func anEarliestBeginDateIsKept() async throws {
    let delegate = RecordingDelegate()
    let other = try textURL("other")
    delegate.onDelayed = { _ in (.useNewRequest, URLRequest(url: other)) }
    let session = URLSession.recording(delegate)
    let task = session.dataTask(with: try textURL("x"))
    let begin = Date(timeIntervalSinceNow: 0.15)
    task.earliestBeginDate = begin
    task.resume()
    try await delegate.done.wait(within: patience)
    #expect(Date() >= begin)
    #expect(delegate.summary == ["created", "delayed", "response", "data", "metrics", "completed"])
    #expect(delegate.received.withLock { $0 } == Data("other".utf8))
    #expect(task.currentRequest?.url == other)

    let cancelled = RecordingDelegate()
    cancelled.onDelayed = { _ in (.cancel, nil) }
    let second = URLSession.recording(cancelled)
    let refused = second.dataTask(with: other)
    refused.earliestBeginDate = .distantPast
    refused.resume()
    try await cancelled.done.wait(within: patience)
    #expect(cancelled.summary.last == "failed -999")
    session.finishTasksAndInvalidate()
    second.finishTasksAndInvalidate()
  }
}

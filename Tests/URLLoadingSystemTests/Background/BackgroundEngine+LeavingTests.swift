import Foundation
import HTTPTransport
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Background sessions that leave their tasks to the transfer service.
@Suite struct BackgroundEngineLeavingTests {
  private let service = FakeTransferService()
  private let delegate = RecordingDelegate()
  private let url: URL
  private let folder: TemporaryFolder

  init() throws {
    url = try #require(URL(string: "http://example.com/file"))
    folder = try TemporaryFolder()
  }

  private func makeSession(_ queue: OperationQueue? = nil) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "leaving-\(UUID().uuidString)")
    configuration.transferConnector = service
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  /// Else a process could not begin more tasks, each in a session, than the service has connections for it.
  @Test func tasksThatAreLeftStayWithTheServiceWithoutAConnection() async throws {
    let session = makeSession()
    let task = session.downloadTask(with: url)
    task.resume()
    await session.flush()
    let connection = try #require(service.withState { $0.connection })
    session.leaveTasks()
    try await connection.isClosed.wait(within: patience)
    service.withState { state in
      #expect(!state.isInvalidated && state.states[task.taskIdentifier] == .running)
    }
    #expect(task.state == .running && delegate.summary == ["created"])
  }

  /// Else another process would get the same file, and both would move it to its place at a time.
  @Test func tasksAreLeftOnceTheAppHasHandledWhatHasCome() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = makeSession(queue)
    let task = session.downloadTask(with: url)
    task.resume()
    await session.flush()
    try await eventually("the calls of the start") { queue.operationCount == 0 }
    queue.isSuspended = true
    try folder.write("file", to: "a")
    service.end(task.taskIdentifier, path: folder.path("a"))
    try await eventually("the calls of the end") { queue.operationCount > 0 }
    let connection = try #require(service.withState { $0.connection })
    session.leaveTasks()
    try await LoopExecutor.all[0].loop.submit {}.get()
    #expect(!connection.isClosed.isOpen)
    queue.isSuspended = false
    try await connection.isClosed.wait(within: patience)
    #expect(service.withState { $0.log.isEmpty } && delegate.summary.suffix(2) == ["file", "completed"])
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  /// It would be refused over every connection.
  @Test func tasksAreLeftThoughAnAcknowledgementIsRefused() async throws {
    let session = makeSession()
    let task = session.downloadTask(with: url)
    task.resume()
    await session.flush()
    let connection = try #require(service.withState { $0.connection })
    service.fail("acknowledge", .refuse(Refusal(.invalidRequest, "No.")))
    try folder.write("file", to: "a")
    service.end(task.taskIdentifier, path: folder.path("a"))
    try await eventually("the end to be told") { delegate.summary.contains("completed") }
    session.leaveTasks()
    try await connection.isClosed.wait(within: patience)
    #expect(service.withState { !$0.log.isEmpty && !$0.isInvalidated })
  }
}

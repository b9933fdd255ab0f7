import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// A service that knows more than this library, and one that does not come.
@Suite struct BackgroundEngineNewerServiceTests {
  private let delegate = RecordingDelegate()
  private let url: URL

  init() throws { url = try #require(URL(string: "http://example.com/file")) }

  private func session(_ service: FakeTransferService) -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "engine-\(UUID().uuidString)")
    configuration.transferConnector = service
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func end(_ session: URLSession) async throws {
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  @Test func anEventOfAnUnknownKindIsAcknowledgedAndTheTaskGoesOn() async throws {
    let service = FakeTransferService()
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    _ = try await service.nextCreation()
    service.withState { state in
      state.lastSequence = 1
      state.log.append(
        SequencedEvent(session: "s", sequence: 1, taskIdentifier: task.taskIdentifier, event: .other("verified")))
    }
    service.deliver()
    let first = try await service.next { if case .acknowledge(let body) = $0 { body.sequences } else { nil } }
    #expect(first == [1] && task.state == .running)
    service.end(task.taskIdentifier, path: nil, failure: TransferFailure(URLError(.badServerResponse)))
    let second = try await service.next { if case .acknowledge(let body) = $0 { body.sequences } else { nil } }
    #expect(second == [2] && task.state == .completed)
    #expect((task.error as? URLError)?.code == .badServerResponse)
    try await end(session)
  }

  /// It may last for hours.
  @Test func aServiceWhoseStorageCannotBeUsedIsWaitedForAndTheTaskSaysWhy() async throws {
    let service = FakeTransferService()
    let sentence = "The transfer service waits for its storage."
    for _ in 1...4 { service.fail("attach", .refuse(Refusal(.storage, sentence))) }
    let session = session(service)
    let task = session.downloadTask(with: url)
    let reasons = Recorder<String?>()
    service.withState {
      $0.onRequest = { request in if case .attach = request { reasons.record(task.reasonForWaiting?.sentence) } }
    }
    task.resume()
    #expect(try await service.nextCreation().map(\.taskIdentifier) == [task.taskIdentifier])
    #expect(reasons.all.last??.hasSuffix(sentence) == true, "\(reasons.all)")
    #expect(task.error == nil && !delegate.invalid.isOpen)
    try await end(session)
  }

  /// An update replaces the service before long, and its queue may have tasks of this session.
  @Test func aServiceThatIsTooOldIsWaitedFor() async throws {
    let service = FakeTransferService()
    let sentence = "The transfer service is too old for the app; update it."
    for _ in 1...4 {
      service.fail("attach", .refuse(Refusal(.incompatibleVersion, sentence, mustUpdate: .service)))
    }
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    #expect(try await service.nextCreation().map(\.taskIdentifier) == [task.taskIdentifier])
    #expect(task.error == nil && !delegate.invalid.isOpen)
    try await end(session)
  }

  /// No service comes that such an app can use.
  @Test func anAppThatIsTooOldIsDisconnected() async throws {
    let service = FakeTransferService(isReachable: false)
    service.fail("attach", .refuse(Refusal(.incompatibleVersion, "The app is too old.", mustUpdate: .app)))
    let session = session(service)
    let task = session.downloadTask(with: url)
    task.resume()
    // Not before: a session that has ended tells of no task.
    service.isReachable.open()
    try await eventually("the failure of the task") { task.state == .completed }
    #expect((task.error as? URLError)?.code == .backgroundSessionWasDisconnected)
    try await delegate.invalid.wait(within: patience)
  }

  /// Its queue may have tasks of an earlier process: these are waited for, and new ones are told why they can't begin.
  @Test func withoutItsServiceAQueueIsWaitedForAndNewTasksFail() async throws {
    let service = FakeTransferService(tries: 1)
    service.withState { state in
      var absence = ServiceUnavailable(reason: "the program is gone")
      absence.hasQueue = true
      state.absence = absence
      state.tasks[5] = TransferDescription(
        token: "earlier", taskIdentifier: 5, request: RequestDescription(url: url.absoluteString, method: "GET"))
    }
    let session = session(service)
    let waiting = session.downloadTask(with: url)
    waiting.resume()
    try await eventually("the reason") {
      waiting.reasonForWaiting?.sentence.contains("the program is gone") == true || waiting.state == .completed
    }
    try await eventually("the failure of the task") { waiting.state == .completed }
    let error = try #require(waiting.error as? URLError)
    #expect(
      error.code == .backgroundSessionWasDisconnected && error.localizedDescription.contains("the program is gone"))
    // At once from then on.
    let late = session.downloadTask(with: url)
    late.resume()
    try await eventually("the failure of a later task") { late.state == .completed }
    #expect((late.error as? URLError)?.code == .backgroundSessionWasDisconnected && !delegate.invalid.isOpen)
    service.withState { $0.absence = nil }
    // The task in the queue is there once the service is.
    #expect(await session.allTasks.map(\.taskIdentifier) == [5])
    let next = session.downloadTask(with: url)
    next.resume()
    #expect(try await service.nextCreation().map(\.taskIdentifier) == [next.taskIdentifier])
    try await end(session)
  }
}

import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Apps give tasks of background sessions other requests.
@Suite struct BackgroundEngineReplacingTests {
  private let service = FakeTransferService()
  private let delegate = RecordingDelegate()

  private func makeSession() -> URLSession {
    let configuration = URLSessionConfiguration.background(withIdentifier: "replacing-\(UUID().uuidString)")
    configuration.transferConnector = service
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private func request(token: String = "old") throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "http://example.com/file?sign=1")))
    request.setValue(token, forHTTPHeaderField: "Authorization")
    request.setValue("a/b", forHTTPHeaderField: "Accept")
    return request
  }

  /// Runs `body` with a task that the service has.
  private func withTask(_ body: (URLSession, URLSessionTask) async throws -> Void) async throws {
    let session = makeSession()
    let task = session.downloadTask(with: try request())
    task.resume()
    _ = try await service.nextCreation()
    try await body(session, task)
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  private func nextEdit() async throws -> EditTransfer {
    try await service.next { if case .editTransfer(let edit) = $0 { edit } else { nil } }
  }

  private var edits: [EditTransfer] {
    service.requests.all.compactMap { if case .editTransfer(let edit) = $0 { edit } else { nil } }
  }

  private func token(_ request: URLRequest?) -> String? { request?.value(forHTTPHeaderField: "Authorization") }

  private func kind(_ body: () async throws -> Void) async -> RequestReplacementError.Kind? {
    do { try await body() } catch { return (error as? RequestReplacementError)?.kind }
    return nil
  }

  @Test func whatDiffersIsToldToTheService() async throws {
    try await withTask { _, task in
      try await task.replaceRequest(with: request(token: "new"))
      let edit = try #require(edits.first)
      #expect(edit.transfer == Int64(task.taskIdentifier))
      // All fields, since the service may have other ones than this process knows.
      #expect(edit.fields?.contains(HeaderField("Authorization", "new")) == true)
      #expect(edit.url == nil && edit.removedFields == nil && edit.priority == nil && edit.allowsCellularAccess == nil)
      #expect(token(task.currentRequest) == "new" && token(task.originalRequest) == "old")
      // The same again is no change.
      try await task.replaceRequest(with: request(token: "new"))
      #expect(edits.count == 1)
    }
  }

  /// A service that was killed may or may not have made the change.
  @Test func aChangeThatWasNotConfirmedIsToldAgain() async throws {
    try await withTask { _, task in
      service.fail("editTransfer", .loseRequest)
      service.fail("editTransfer", .loseAnswer)
      try await task.replaceRequest(with: request(token: "new"))
      #expect(edits.count == 2, "one was lost on the way, and one answer")
      #expect(edits.allSatisfy { $0.fields?.contains(HeaderField("Authorization", "new")) == true })
      #expect(token(task.currentRequest) == "new")
    }
  }

  @Test func changesOfOneTaskAreMadeOneAfterTheOther() async throws {
    try await withTask { _, task in
      async let first: Void = task.replaceRequest(with: request(token: "a"))
      async let second: Void = task.replaceRequest(with: request(token: "b"))
      _ = try await (first, second)
      let told = edits.map { $0.fields?.first?.value }
      #expect(told.count == 2 && Set(told) == ["a", "b"])
      #expect(token(task.currentRequest) == told.last)
    }
  }

  @Test func aTaskThatIsNotHandedOverYetIsChangedThen() async throws {
    let service = FakeTransferService(isReachable: false)
    let configuration = URLSessionConfiguration.background(withIdentifier: "replacing-\(UUID().uuidString)")
    configuration.transferConnector = service
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let task = session.downloadTask(with: try request())
    task.resume()
    async let replaced: Void = task.replaceRequest(with: request(token: "new"))
    service.isReachable.open()
    try await replaced
    let edit = try await service.next { if case .editTransfer(let edit) = $0 { edit } else { nil } }
    #expect(edit.transfer == Int64(task.taskIdentifier))
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  @Test func aTaskThatIsNotResumedIsAsIfMadeWithTheRequest() async throws {
    let session = makeSession()
    let task = session.downloadTask(with: try request())
    try await task.replaceRequest(with: request(token: "new"))
    #expect(token(task.originalRequest) == "new" && token(task.currentRequest) == "new")
    task.resume()
    let created = try #require(try await service.nextCreation().first)
    #expect(created.request.headers.contains(HeaderField("Authorization", "new")))
    #expect(edits.isEmpty)
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  @Test func aTaskOfAnEarlierProcessIsChanged() async throws {
    service.withState { state in
      state.tasks[1] = TransferDescription(
        token: "t", taskIdentifier: 1, request: RequestDescription(url: "http://example.com/file"))
      state.states[1] = .waiting
    }
    let session = makeSession()
    let task = try #require(await session.allTasks.first)
    var request = try #require(task.currentRequest)
    request.url = URL(string: "http://example.com/other")
    try await task.replaceRequest(with: request)
    let edit = try await nextEdit()
    #expect(edit.transfer == 1 && edit.url == "http://example.com/other")
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  /// A later task goes on with what was sent for that one.
  @Test func theDataOfAnUploadThatGoesOnHasTheNewRequest() async throws {
    let session = makeSession()
    let task = session.uploadTask(with: try request(), fromFile: URL(fileURLWithPath: "/f"))
    task.noteRequest(try request(token: "new"))
    let point = UploadPoint(resource: "http://example.com/u", version: 6, path: "/f", size: 4, inode: 1, modified: 0)
    let data = try #require(UploadResumeData(point, of: task))
    #expect(data.originalRequest.headers.contains(HeaderField("Authorization", "new")))
    session.invalidateAndCancel()
    try await delegate.invalid.wait(within: patience)
  }

  // MARK: Refusals

  @Test func aRefusalOfTheServiceIsThrown() async throws {
    try await withTask { _, task in
      service.fail("editTransfer", .refuse(Refusal(.tooLarge, "It is too large.")))
      let request = try request(token: "new")
      do {
        try await task.replaceRequest(with: request)
        Issue.record("the request was replaced")
      } catch let error as RequestReplacementError {
        #expect(error.kind == .refused && error.localizedDescription == "It is too large.")
      }
      #expect(token(task.currentRequest) == "old")
      // The next one is told.
      try await task.replaceRequest(with: request)
      #expect(token(task.currentRequest) == "new")
    }
  }

  @Test func tasksThatAreOverKeepTheirRequest() async throws {
    try await withTask { session, task in
      let request = try request(token: "new")
      service.end(task.taskIdentifier, path: nil, failure: TransferFailure(URLError(.timedOut)))
      try await delegate.done.wait(within: patience)
      #expect(await kind { try await task.replaceRequest(with: request) } == .taskIsOver)
      let other = session.downloadTask(with: request)
      other.cancel()
      #expect(await kind { try await other.replaceRequest(with: request) } == .taskIsOver)
    }
  }

  /// The answer never comes.
  @Test func theEndOfTheTaskEndsTheWait() async throws {
    try await withTask { _, task in
      service.fail("editTransfer", .holdAnswer)
      let request = try request(token: "new")
      async let ended = kind { try await task.replaceRequest(with: request) }
      try await eventually("the request") { service.withState { $0.faults["editTransfer"]?.isEmpty == true } }
      service.end(task.taskIdentifier, path: nil, failure: TransferFailure(URLError(.timedOut)))
      #expect(await ended == .taskIsOver)
      service.drop()
    }
  }

  @Test func theCallersCancellationEndsTheWait() async throws {
    try await withTask { _, task in
      service.fail("editTransfer", .holdAnswer)
      let request = try request(token: "new")
      let caller = Task { try await task.replaceRequest(with: request) }
      try await eventually("the request") { service.withState { $0.faults["editTransfer"]?.isEmpty == true } }
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
      service.drop()
    }
  }

  @Test func otherSessionsKeepTheRequestsOfTheirTasks() async throws {
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try request())
    let new = try request(token: "new")
    #expect(await kind { try await task.replaceRequest(with: new) } == .notInBackground)
    #expect(token(task.currentRequest) == "old")
    session.invalidateAndCancel()
  }

  @Test func bodiesStay() async throws {
    try await withTask { _, task in
      var request = try request()
      request.httpBody = Data([1])
      let new = request
      #expect(await kind { try await task.replaceRequest(with: new) } == .notReplaceable)
      #expect(edits.isEmpty)
    }
  }
}

import Foundation
import LoopbackServer
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Tasks of background sessions whose earliest date has come: the delegate says how they begin.
@Suite struct BackgroundEngineDelayedRequestsTests {
  private let service = FakeTransferService()

  /// Runs `body` with a session that has one task in the service.
  private func withTask(
    _ delegate: any URLSessionDelegate, _ body: (URLSessionTask) async throws -> Void
  ) async throws {
    let configuration = URLSessionConfiguration.background(withIdentifier: "delayed-\(UUID().uuidString)")
    configuration.transferConnector = service
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    var request = URLRequest(url: try #require(URL(string: "http://example.com/file")))
    request.allowsCellularAccess = false
    request.setValue("old", forHTTPHeaderField: "Authorization")
    let task = session.downloadTask(with: request)
    task.earliestBeginDate = Date(timeIntervalSinceNow: 3_600)
    task.resume()
    _ = try await service.nextCreation()
    try await body(task)
    session.invalidateAndCancel()
  }

  private func ask(_ task: URLSessionTask, _ number: UInt64 = 1) {
    service.push(
      .delayedRequest(DelayedRequestQuestion(session: "s", taskIdentifier: task.taskIdentifier, number: number)))
  }

  private func nextAnswer() async throws -> DelayedRequestAnswered {
    try await service.next { if case .answerDelayedRequest(let answer) = $0 { answer } else { nil } }
  }

  @Test func theServiceKnowsThatThisLibraryAnswers() async throws {
    try await withTask(RecordingDelegate()) { _ in
      let attach = service.requests.all.compactMap { if case .attach(let attach) = $0 { attach } else { nil } }
      #expect(attach.first?.answersDelayedRequests == true)
    }
  }

  @Test func theDelegateLetsItBeginOrCancelsIt() async throws {
    let delegate = RecordingDelegate()
    try await withTask(delegate) { task in
      ask(task, 7)
      let first = try await nextAnswer()
      #expect(first.number == 7 && first.disposition == .continueLoading)
      #expect(delegate.events.all.filter { $0 == "delayed" }.count == 1)
      delegate.onDelayed = { _ in (.cancel, nil) }
      ask(task, 8)
      let answer = try await nextAnswer()
      #expect(answer.disposition == .cancel)
    }
  }

  @Test func theDelegatesNewRequestGoesToTheService() async throws {
    let delegate = RecordingDelegate()
    delegate.onDelayed = { request in
      var new = request
      new.setValue("new", forHTTPHeaderField: "Authorization")
      new.allowsCellularAccess = true
      return (.useNewRequest, new)
    }
    try await withTask(delegate) { task in
      ask(task)
      let answer = try await nextAnswer()
      guard case .useNewRequest(let sent) = answer.disposition else {
        Issue.record("no new request")
        return
      }
      #expect(sent.url == "http://example.com/file" && sent.headers == [HeaderField("Authorization", "new")])
      #expect(sent.allowsCellularAccess == false, "the original's networks count")
      try await within(patience, "the new request") {
        while task.currentRequest?.value(forHTTPHeaderField: "Authorization") != "new" { await Task.yield() }
      }
      #expect(task.originalRequest?.value(forHTTPHeaderField: "Authorization") == "old")
    }
  }

  /// The user has changed it (`urlsession edit`), of which the app knows nothing.
  @Test func theDelegateIsAskedAboutTheRequestOfTheService() async throws {
    let delegate = RecordingDelegate()
    delegate.onDelayed = { request in
      var new = request
      new.setValue("b", forHTTPHeaderField: "X-Token")
      return (.useNewRequest, new)
    }
    try await withTask(delegate) { task in
      var told = RequestDescription(url: "http://example.com/edited", headers: [HeaderField("Accept", "a/b")])
      told.allowsCellularAccess = true
      service.push(
        .delayedRequest(
          DelayedRequestQuestion(session: "s", taskIdentifier: task.taskIdentifier, number: 1, request: told)))
      let answer = try await nextAnswer()
      guard case .useNewRequest(let sent) = answer.disposition else {
        Issue.record("no new request")
        return
      }
      #expect(sent.url == "http://example.com/edited" && sent.allowsCellularAccess == true)
      #expect(sent.headers == [HeaderField("Accept", "a/b"), HeaderField("X-Token", "b")])
      try await within(patience, "the new request") {
        while task.currentRequest?.value(forHTTPHeaderField: "X-Token") != "b" { await Task.yield() }
      }
    }
  }

  /// A password of the URL is not told.
  @Test func anUnchangedRequestStaysAsItIs() async throws {
    let delegate = RecordingDelegate()
    let configuration = URLSessionConfiguration.background(withIdentifier: "delayed-\(UUID().uuidString)")
    configuration.transferConnector = service
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let request = URLRequest(url: try #require(URL(string: "http://u:secret@example.com/file")))
    let task = session.downloadTask(with: request)
    task.resume()
    _ = try await service.nextCreation()
    service.push(
      .delayedRequest(
        DelayedRequestQuestion(
          session: "s", taskIdentifier: task.taskIdentifier, number: 1,
          request: RequestDescription(url: "http://u@example.com/file"))))
    let answer = try await nextAnswer()
    #expect(answer.disposition == .continueLoading && task.currentRequest?.url == request.url)
    session.invalidateAndCancel()
  }

  /// The service has begun the task as it was, or has another request of it.
  @Test func aRefusedNewRequestIsNotTheTasks() async throws {
    let delegate = RecordingDelegate()
    delegate.onDelayed = { request in
      var new = request
      new.setValue("new", forHTTPHeaderField: "Authorization")
      return (.useNewRequest, new)
    }
    service.fail("answerDelayedRequest", .refuse(Refusal(.unknownTask, "The question is no longer asked.")))
    try await withTask(delegate) { task in
      ask(task)
      _ = try await nextAnswer()
      delegate.onDelayed = { _ in (.continueLoading, nil) }
      ask(task, 2)
      _ = try await nextAnswer()
      #expect(task.currentRequest?.value(forHTTPHeaderField: "Authorization") == "old")
    }
  }

  @Test func theAsyncFormIsAskedAsWell() async throws {
    try await withTask(AsyncDelegate()) { task in
      ask(task)
      let answer = try await nextAnswer()
      guard case .useNewRequest(let sent) = answer.disposition else {
        Issue.record("no new request")
        return
      }
      #expect(sent.headers == [HeaderField("Authorization", "async")])
    }
  }

  @Test func aDelegateWithoutTheMethodLetsItBegin() async throws {
    try await withTask(PlainDelegate()) { task in
      ask(task)
      let answer = try await nextAnswer()
      #expect(answer.disposition == .continueLoading)
    }
  }

  @Test func aTaskThatIsNotKnownBegins() async throws {
    try await withTask(RecordingDelegate()) { task in
      service.push(
        .delayedRequest(DelayedRequestQuestion(session: "s", taskIdentifier: task.taskIdentifier + 1, number: 3)))
      let answer = try await nextAnswer()
      #expect(answer.number == 3 && answer.disposition == .continueLoading)
    }
  }

  @Test func aRequestThatNoMessageCanHoldFailsTheTask() async throws {
    let delegate = RecordingDelegate()
    delegate.onDelayed = { request in
      var new = request
      new.httpBodyStream = InputStream(data: Data([1]))
      return (.useNewRequest, new)
    }
    try await withTask(delegate) { task in
      ask(task)
      let answer = try await nextAnswer()
      guard case .fail(let failure) = answer.disposition else {
        Issue.record("the request was taken")
        return
      }
      #expect(failure.code == URLError.Code.requestBodyStreamExhausted.rawValue)
      #expect(failure.message.contains("body stream"))
    }
  }

  /// As in sessions of this process.
  @Test func useNewRequestWithoutOneCancels() async throws {
    let delegate = RecordingDelegate()
    delegate.onDelayed = { _ in (.useNewRequest, nil) }
    try await withTask(delegate) { task in
      ask(task)
      let answer = try await nextAnswer()
      #expect(answer.disposition == .cancel)
    }
  }
}

private final class AsyncDelegate: NSObject, URLSessionDownloadDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
  ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
    var new = request
    new.setValue("async", forHTTPHeaderField: "Authorization")
    return (.useNewRequest, new)
  }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {}
}

private final class PlainDelegate: NSObject, URLSessionDownloadDelegate {
  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {}
}

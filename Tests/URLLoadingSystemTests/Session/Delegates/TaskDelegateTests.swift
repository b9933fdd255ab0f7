import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Implements one method with a completion handler.
private final class RedirectCallback: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  let events = Recorder<String>()
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    events.record("callback")
    completionHandler(nil)
    completionHandler(request)
  }
}

/// The same as an `async` function, and that of the data delegate.
private final class AsyncForms: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  let events = Recorder<String>()
  let done = Gate()
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) async -> URLRequest? {
    events.record("redirect")
    return request
  }
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
  ) async -> URLSession.ResponseDisposition {
    events.record("response")
    return .cancel
  }
  func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
    events.record("stream")
    return InputStream(data: Data("streamed".utf8))
  }
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    events.record((error as? URLError)?.code == .cancelled ? "cancelled" : "completed")
    done.open()
  }
}

/// Implements nothing.
private final class Silent: NSObject, URLSessionTaskDelegate {}

/// Only hears the end.
private final class EndOnly: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  let done = Gate()
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) { done.open() }
}

@Suite(.overHTTP1To3) struct TaskDelegateTests {
  private let redirecting: LoopbackServer.Handler = { $0.path == "/end" ? .ok("end") : .redirect(to: "/end") }

  @Test func theTaskDelegateIsAskedFirst() async throws {
    try await withServer(redirecting) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let own = RedirectCallback()
      let (data, response) = try await session.data(from: server.url(), delegate: own)
      // It refused, and its second answer did not count.
      #expect((response as? HTTPURLResponse)?.statusCode == 302)
      #expect(data.isEmpty)
      #expect(own.events.all == ["callback"])
      #expect(!delegate.summary.contains("redirect 302"))
      // What it leaves out goes to the session's delegate.
      #expect(delegate.summary.contains("metrics"))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func whatItLeavesOutGoesToTheSessionDelegateEachTime() async throws {
    try await withServer(redirecting) { server in
      for _ in 0..<2 {
        let delegate = RecordingDelegate()
        let session = URLSession.recording(delegate)
        let (data, _) = try await session.data(from: server.url(), delegate: Silent())
        #expect(data == Data("end".utf8))
        #expect(delegate.summary == ["created", "redirect 302", "metrics"])
        session.finishTasksAndInvalidate()
      }
    }
  }

  @Test func theEndIsToldToTheTaskDelegateOnly() async throws {
    let delegate = RecordingDelegate()
    let session = URLSession.recording(delegate)
    let own = EndOnly()
    let task = session.dataTask(with: try textURL("x"))
    task.delegate = own
    #expect(task.delegate === own)
    task.resume()
    task.delegate = nil
    try await own.done.wait(within: patience)
    session.finishTasksAndInvalidate()
    try await delegate.invalid.wait(within: patience)
    #expect(delegate.summary == ["created", "response", "data", "metrics", "invalid"])
    #expect(task.delegate == nil)
  }

  @Test func asyncFormsAreCalled() async throws {
    try await withServer({ request in
      request.path == "/end" ? .ok("end") : .redirect(to: "/end", status: 307)
    }) { server in
      let delegate = AsyncForms()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      session.uploadTask(withStreamedRequest: request).resume()
      try await delegate.done.wait(within: patience)
      // The body is sent twice, each time from a fresh stream.
      #expect(delegate.events.all == ["stream", "redirect", "stream", "response", "cancelled"])
      #expect(server.requests.map(\.body.text) == ["streamed", "streamed"])
      session.finishTasksAndInvalidate()
    }
  }

  /// An `async` call's task may be set up and even resumed while it is announced; the call still gets its result.
  @Test func aTaskMayBeTouchedWhileItIsAnnounced() async throws {
    final class Eager: NSObject, URLSessionTaskDelegate {
      func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        task.priority = URLSessionTask.highPriority
        task.resume()
        task.suspend()
        task.resume()
      }
    }
    let session = URLSession(configuration: .loopback, delegate: Eager(), delegateQueue: nil)
    #expect(try await session.data(from: try textURL("x")).0 == Data("x".utf8))
    session.finishTasksAndInvalidate()
  }

  /// What an `async` call returns is not told to its delegate as well.
  @Test func callsTellTheirDelegateOfTheLifeCycleOnly() async throws {
    try await withServer({ $0.path == "/end" ? .ok("end") : .redirect(to: "/end", status: 307) }) { server in
      let session = URLSession(configuration: .loopback)
      let data = RecordingDelegate()
      _ = try await session.data(from: server.url(), delegate: data)
      #expect(data.summary == ["created", "redirect 307", "metrics"])
      let download = RecordingDelegate()
      let (file, _) = try await session.download(from: server.url(), delegate: download)
      try FileManager.default.removeItem(at: file)
      #expect(download.summary == ["created", "redirect 307", "metrics"])
      var request = URLRequest(url: server.url("/end"))
      request.httpMethod = "PUT"
      let upload = RecordingDelegate()
      _ = try await session.upload(for: request, from: Data(count: 1000), delegate: upload)
      #expect(upload.summary == ["created", "sent", "metrics"])
      let bytes = RecordingDelegate()
      for try await _ in try await session.bytes(from: server.url(), delegate: bytes).0 {}
      #expect(bytes.summary == ["created", "redirect 307", "metrics"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func didCreateTaskComesInsideTheFactory() throws {
    let delegate = RecordingDelegate()
    let session = URLSession.recording(delegate)
    _ = session.dataTask(with: try textURL("x"))
    #expect(delegate.events.all == ["created"])
    session.invalidateAndCancel()
  }
}

import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct TaskPropertyTests {
  @Test func theLastReferenceToADelegateMayUseTheTask() throws {
    final class Delegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
      // Sendable by hand: constants.
      private let task: URLSessionTask
      private let states: Recorder<URLSessionTask.State>

      init(_ task: URLSessionTask, _ states: Recorder<URLSessionTask.State>) {
        (self.task, self.states) = (task, states)
      }

      deinit { states.record(task.state) }
    }
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try textURL("x"))
    let states = Recorder<URLSessionTask.State>()
    task.delegate = Delegate(task, states)
    task.delegate = nil
    #expect(states.all == [.suspended])
    task.cancel()
    session.finishTasksAndInvalidate()
  }

  @Test func theCurrentRequestFollowsRedirectsAndTheOriginalDoesNot() async throws {
    try await withServer({ $0.path == "/end" ? .ok("x") : .redirect(to: "/end", status: 303) }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      var request = URLRequest(url: server.url("/begin"))
      request.httpMethod = "POST"
      request.httpBody = Data("body".utf8)
      let task = session.dataTask(with: request)
      request.httpMethod = "PUT"
      #expect(task.response == nil && task.currentRequest == task.originalRequest)
      task.resume()
      try await delegate.done.wait(within: patience)
      #expect(task.originalRequest?.url == server.url("/begin") && task.originalRequest?.httpMethod == "POST")
      #expect(task.currentRequest?.url == server.url("/end") && task.currentRequest?.httpMethod == "GET")
      let response = try #require(task.response as? HTTPURLResponse)
      #expect(response.url == server.url("/end") && response.statusCode == 200)
      #expect(task.error == nil && task.state == .completed)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func countersCountBodies() async throws {
    try await withServer({ request in
      request.path == "/chunked" ? .chunked(["abc", "de"]) : .ok("abcde")
    }) { server in
      let session = URLSession(configuration: .ephemeral)
      for (path, expected) in [("/known", 5), ("/chunked", NSURLSessionTransferSizeUnknown)] as [(String, Int64)] {
        var request = URLRequest(url: server.url(path))
        request.httpMethod = "POST"
        let ended = Gate()
        let task = session.uploadTask(with: request, from: Data("1234567".utf8)) { _, _, _ in ended.open() }
        #expect(task.countOfBytesSent == 0 && task.countOfBytesReceived == 0)
        #expect(task.countOfBytesExpectedToSend == 7 && task.countOfBytesExpectedToReceive == -1)
        task.resume()
        try await ended.wait(within: patience)
        #expect(task.countOfBytesSent == 7 && task.countOfBytesReceived == 5)
        #expect(task.countOfBytesExpectedToReceive == expected)
      }
      session.finishTasksAndInvalidate()
    }
  }

  @Test func theLengthOfABodyIsKnownBeforeItIsSent() throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let url = try textURL("x")
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("length-\(UUID().uuidString)")
    try Data(count: 11).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var withBody = URLRequest(url: url)
    withBody.httpBody = Data(count: 3)
    var withStream = URLRequest(url: url)
    withStream.httpBodyStream = InputStream(data: Data(count: 3))
    var withLength = withStream
    withLength.setValue("9", forHTTPHeaderField: "content-length")
    #expect(session.dataTask(with: url).countOfBytesExpectedToSend == 0)
    #expect(session.dataTask(with: withBody).countOfBytesExpectedToSend == 3)
    #expect(session.dataTask(with: withStream).countOfBytesExpectedToSend == -1)
    #expect(session.dataTask(with: withLength).countOfBytesExpectedToSend == 9)
    #expect(session.uploadTask(with: withBody, fromFile: file).countOfBytesExpectedToSend == 11)
  }

  @Test func labelsAndHintsAreKept() throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try textURL("x"))
    #expect(task.taskDescription == nil && task.delegate == nil && task.earliestBeginDate == nil)
    task.taskDescription = "label"
    task.countOfBytesClientExpectsToSend = 12
    task.countOfBytesClientExpectsToReceive = 34
    task.prefersIncrementalDelivery = false
    task.priority = URLSessionTask.highPriority
    #expect(task.taskDescription == "label")
    #expect(task.countOfBytesClientExpectsToSend == 12 && task.countOfBytesClientExpectsToReceive == 34)
    #expect(!task.prefersIncrementalDelivery && task.priority == URLSessionTask.highPriority)
    task.priority = -1
    #expect(task.priority == 0)
  }

  /// With one connection, whoever has the highest priority gets it next, whatever the order of asking.
  @Test func prioritiesDecideWhoIsNext() async throws {
    let go = Gate()
    try await withServer({ request in
      request.path == "/first" ? Reply.ok("x").preceded(by: [.waitFor(go)]) : .ok("x")
    }) { server in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 1
      let session = URLSession(configuration: configuration)
      session.dataTask(with: server.url("/first")).resume()
      _ = try await server.nextRequest()
      let ended = Recorder<Void>()
      for (path, priority) in [
        ("/low", URLSessionTask.lowPriority), ("/normal", URLSessionTask.defaultPriority),
        ("/high", URLSessionTask.highPriority),
      ] {
        let task = session.dataTask(with: server.url(path)) { _, _, _ in ended.record(()) }
        task.priority = priority
        task.resume()
      }
      // Events of one loop come in order: when this task has gone through it, the three before it are waiting.
      let last = session.dataTask(with: server.url("/cancelled")) { _, _, _ in ended.record(()) }
      last.priority = 0
      last.resume()
      last.cancel()
      _ = try await ended.next()
      go.open()
      _ = try await ended.first(4)
      #expect(server.requests.map(\.path) == ["/first", "/high", "/normal", "/low"])
      #expect(server.connectionCount == 1)
      session.finishTasksAndInvalidate()
    }
  }
}

import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct FactoryTests {
  enum Kind: Sendable { case data, upload, download }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: Kind
    let make: @Sendable (URLSession, URL) -> URLSessionTask
    let method: String
    let body: String

    init(
      _ name: String, _ kind: Kind, _ method: String = "GET", body: String = "",
      _ make: @escaping @Sendable (URLSession, URL) -> URLSessionTask
    ) {
      (testDescription, self.kind, self.method, self.body, self.make) = (name, kind, method, body, make)
    }
  }

  private static func post(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data("own".utf8)
    return request
  }

  static let cases = [
    Case("dataTask, URL", .data) { $0.dataTask(with: $1) },
    Case("dataTask, request", .data, "POST", body: "own") { $0.dataTask(with: post($1)) },
    Case("uploadTask, data", .upload, "POST", body: "argument") {
      $0.uploadTask(with: post($1), from: Data("argument".utf8))
    },
    Case("downloadTask, URL", .download) { $0.downloadTask(with: $1) },
    Case("downloadTask, request", .download, "POST", body: "own") { $0.downloadTask(with: post($1)) },
  ]

  @Test(arguments: cases) func makesASuspendedTaskOfItsKind(_ test: Case) async throws {
    try await withServer({ _ in .ok("answer") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let task = test.make(session, server.url("/x"))
      #expect(task.state == .suspended)
      #expect(task.originalRequest?.url == server.url("/x"))
      #expect(task.originalRequest?.httpMethod == test.method)
      switch test.kind {
      case .data: #expect(type(of: task) == URLSessionDataTask.self)
      case .upload: #expect(type(of: task) == URLSessionUploadTask.self)
      case .download: #expect(type(of: task) == URLSessionDownloadTask.self)
      }
      #expect(server.requests.isEmpty)
      task.resume()
      try await delegate.done.wait(within: patience)
      let seen = try await server.nextRequest()
      #expect(seen.method == test.method && seen.body.text == test.body)
      #expect(task.error == nil)
      session.finishTasksAndInvalidate()
    }
  }

  struct HandlerCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sent: String
    /// Reports what the handler got as text, and the error.
    let make:
      @Sendable (URLSession, URL, @escaping @Sendable (String?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask

    init(
      _ name: String, sent: String = "",
      _ make:
        @escaping @Sendable (URLSession, URL, @escaping @Sendable (String?, URLResponse?, (any Error)?) -> Void) ->
        URLSessionTask
    ) { (testDescription, self.sent, self.make) = (name, sent, make) }
  }

  private static func text(_ data: Data?) -> String? { data.map { String(decoding: $0, as: UTF8.self) } }
  private static func text(_ file: URL?) -> String? { file.flatMap { try? String(contentsOf: $0, encoding: .utf8) } }

  static let handlerCases = [
    HandlerCase("dataTask, request") { session, url, done in
      session.dataTask(with: URLRequest(url: url)) { done(text($0), $1, $2) }
    },
    HandlerCase("dataTask, URL") { session, url, done in session.dataTask(with: url) { done(text($0), $1, $2) } },
    HandlerCase("uploadTask, data", sent: "bytes") { session, url, done in
      session.uploadTask(with: post(url), from: Data("bytes".utf8)) { done(text($0), $1, $2) }
    },
    HandlerCase("uploadTask, nil") { session, url, done in
      session.uploadTask(with: post(url), from: nil) { done(text($0), $1, $2) }
    },
    HandlerCase("uploadTask, file", sent: "content") { session, url, done in
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("factory-\(UUID().uuidString)")
      try? Data("content".utf8).write(to: file)
      return session.uploadTask(with: post(url), fromFile: file) {
        try? FileManager.default.removeItem(at: file)
        done(text($0), $1, $2)
      }
    },
    HandlerCase("downloadTask, request") { session, url, done in
      session.downloadTask(with: URLRequest(url: url)) { done(text($0), $1, $2) }
    },
    HandlerCase("downloadTask, URL") { session, url, done in
      session.downloadTask(with: url) { done(text($0), $1, $2) }
    },
  ]

  /// The handler gets the answer on the delegate queue; no delegate hears of response, data or end.
  @Test(arguments: handlerCases) func completionHandlersGetTheAnswer(_ test: HandlerCase) async throws {
    try await withServer({ .ok("got \($0.body.text)") }) { server in
      let delegate = RecordingDelegate()
      let queue = serialQueue()
      let session = URLSession.recording(delegate, queue: queue)
      let seen = Recorder<(text: String?, status: Int?, failed: Bool, isOnQueue: Bool)>()
      let task = test.make(session, server.url()) { text, response, error in
        let status = (response as? HTTPURLResponse)?.statusCode
        seen.record((text, status, error != nil, OperationQueue.current === queue))
      }
      #expect(task.state == .suspended)
      #expect(!task.prefersIncrementalDelivery)
      task.resume()
      let result = try await seen.next()
      #expect(result.text == "got \(test.sent)")
      #expect(result.status == 200 && !result.failed && result.isOnQueue)
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      let heard = delegate.summary.filter { $0 != "sent" }
      #expect(heard == ["created", "metrics", "invalid"])
      #expect(seen.count == 1)
    }
  }

  /// A broken transfer: no data, the response that there was, and a `URLError`.
  @Test func completionHandlersGetTheError() async throws {
    try await withServer({ _ in .truncated(declared: 10, sent: 3) }) { server in
      let session = URLSession(configuration: .ephemeral)
      let seen = Recorder<(isEmpty: Bool, status: Int?, domain: String?)>()
      session.dataTask(with: server.url()) { data, response, error in
        seen.record((data == nil, (response as? HTTPURLResponse)?.statusCode, (error as NSError?)?.domain))
      }.resume()
      let result = try await seen.next()
      #expect(result.isEmpty && result.status == 200 && result.domain == NSURLErrorDomain)
      session.finishTasksAndInvalidate()
    }
  }
}

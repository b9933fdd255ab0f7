import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct AsyncFormTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sent: String
    let call: @Sendable (URLSession, URLRequest, (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse)

    init(
      _ name: String, sent: String = "",
      _ call:
        @escaping @Sendable (URLSession, URLRequest, (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse)
    ) { (testDescription, self.sent, self.call) = (name, sent, call) }
  }

  private static func url(_ request: URLRequest) throws -> URL { try #require(request.url) }

  /// The bytes of a file that is the caller's from now on.
  private static func taken(_ result: (URL, URLResponse)) throws -> (Data, URLResponse) {
    let data = try Data(contentsOf: result.0)
    try FileManager.default.removeItem(at: result.0)
    return (data, result.1)
  }

  private static func withFile<Value>(_ text: String, _ body: (URL) async throws -> Value) async throws -> Value {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("async-\(UUID().uuidString)")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file)
  }

  static let cases = [
    Case("data(for:)") { try await $0.data(for: $1, delegate: $2) },
    Case("data(from:)") { try await $0.data(from: try url($1), delegate: $2) },
    Case("upload(for:from:)", sent: "bytes") {
      try await $0.upload(for: $1, from: Data("bytes".utf8), delegate: $2)
    },
    Case("upload(for:fromFile:)", sent: "content") { session, request, delegate in
      try await withFile("content") { try await session.upload(for: request, fromFile: $0, delegate: delegate) }
    },
    Case("download(for:)") { try taken(try await $0.download(for: $1, delegate: $2)) },
    Case("download(from:)") { try taken(try await $0.download(from: try url($1), delegate: $2)) },
    Case("bytes(for:)") {
      let (bytes, response) = try await $0.bytes(for: $1, delegate: $2)
      return (try await bytes.reduce(into: Data()) { $0.append($1) }, response)
    },
    Case("bytes(from:)") {
      let (bytes, response) = try await $0.bytes(from: try url($1), delegate: $2)
      return (try await bytes.reduce(into: Data()) { $0.append($1) }, response)
    },
  ]

  @Test(arguments: cases) func returnsTheAnswerAndAsksItsDelegate(_ test: Case) async throws {
    try await withServer({ $0.path == "/begin" ? .redirect(to: "/end", status: 307) : .ok("got \($0.body.text)") }) {
      server in
      let session = URLSession(configuration: .ephemeral)
      let delegate = RecordingDelegate()
      var request = URLRequest(url: server.url("/begin"))
      if !test.sent.isEmpty { request.httpMethod = "POST" }
      let (data, response) = try await test.call(session, request, delegate)
      #expect(String(decoding: data, as: UTF8.self) == "got \(test.sent)")
      #expect(response.url == server.url("/end"))
      #expect(delegate.summary.filter { $0 != "sent" } == ["created", "redirect 307", "metrics"])
      // The same without a delegate.
      let (again, _) = try await test.call(session, request, nil)
      #expect(again == data)
      session.finishTasksAndInvalidate()
    }
  }

  /// The forms of one or two arguments can be named as functions.
  @Test func theFormsWithoutADelegateAreFunctionsOfTheirOwn() async throws {
    try await withServer({ .ok("got \($0.body.text)") }) { server in
      let session = URLSession(configuration: .ephemeral)
      let dataFor: (URLRequest) async throws -> (Data, URLResponse) = session.data(for:)
      let dataFrom: (URL) async throws -> (Data, URLResponse) = session.data(from:)
      let upload: (URLRequest, Data) async throws -> (Data, URLResponse) = session.upload(for:from:)
      let uploadFile: (URLRequest, URL) async throws -> (Data, URLResponse) = session.upload(for:fromFile:)
      var request = URLRequest(url: server.url())
      #expect(try await dataFor(request).0 == Data("got ".utf8))
      #expect(try await dataFrom(server.url()).0 == Data("got ".utf8))
      request.httpMethod = "POST"
      #expect(try await upload(request, Data("a".utf8)).0 == Data("got a".utf8))
      let sent = request
      let answer = try await Self.withFile("b") { try await uploadFile(sent, $0).0 }
      #expect(answer == Data("got b".utf8))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func bytesHaveTheirTask() async throws {
    try await withServer({ _ in .ok("abc") }) { server in
      let session = URLSession(configuration: .ephemeral)
      let (bytes, response) = try await session.bytes(from: server.url("/x"))
      #expect(bytes.task.originalRequest?.url == server.url("/x"))
      #expect(bytes.task.response === response)
      var iterator = bytes.makeAsyncIterator()
      var text = ""
      while let byte = try await iterator.next() { text.unicodeScalars.append(UnicodeScalar(byte)) }
      #expect(text == "abc")
      #expect(try await iterator.next() == nil)
      // Gone through once.
      var second = bytes.makeAsyncIterator()
      #expect(try await second.next() == nil)
      session.finishTasksAndInvalidate()
    }
  }
}

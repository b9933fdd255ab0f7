import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Uploads to a server of the protocol that was not written here (swift-nio-extras).
@Suite struct ResumableUploadServerTests {
  enum Source: String, CaseIterable, Sendable { case data, file, stream }

  struct Case: Sendable, CustomTestStringConvertible {
    let source: Source
    let version: Int?
    var isAbsolute = true
    var testDescription: String { "\(source), version \(version.map { "\($0)" } ?? "of our choice")" }
  }

  static let cases: [Case] =
    Source.allCases.map { Case(source: $0, version: nil) }
    + [3, 5, 6].map { Case(source: .data, version: $0, isAbsolute: false) }

  private static let size = 3_000_000
  private static let body = Data(BytePattern().bytes(count: size))

  private func withUpload(
    _ test: Case, _ fates: [ResumableUploadServer.Fate],
    _ body: (ResumableUploadServer, URLSession, StreamingDelegate, URLSessionUploadTask) async throws -> Void
  ) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Self.body.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await ResumableUploadServer.run(fates, isAbsolute: test.isAbsolute) { server in
      let delegate = StreamingDelegate(body: Self.body)
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: serialQueue())
      let request = server.request(version: test.version)
      let task =
        switch test.source {
        case .data: session.uploadTask(with: request, from: Self.body)
        case .file: session.uploadTask(with: request, fromFile: file)
        case .stream: session.uploadTask(withStreamedRequest: request)
        }
      try await body(server, session, delegate, task)
      session.finishTasksAndInvalidate()
    }
  }

  private func expectArrived(
    _ server: ResumableUploadServer, _ task: URLSessionTask, _ delegate: StreamingDelegate, _ test: Case
  ) async throws {
    let end = try await delegate.ends.next()
    #expect(end == nil)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 201)
    #expect(String(decoding: delegate.received.all.reduce(Data(), +), as: UTF8.self) == "\(Self.size) bytes")
    let uploads = server.state.current.uploads
    #expect(uploads.count == 1)
    #expect(uploads.first?.path == "/photos")
    #expect(uploads.first.map { Data($0.body) == Self.body } == true)
    #expect(task.countOfBytesSent == Int64(Self.size))
    #expect(delegate.sent.all.last?[0] == Int64(Self.size))
    #expect(task.progress.fractionCompleted == 1 && task.progress.isFinished)
    let version = test.version ?? 6
    #expect(server.state.current.requests.allSatisfy { $0.hasSuffix(" \(version)") })
  }

  @Test(arguments: cases) func aWholeUploadArrives(_ test: Case) async throws {
    try await withUpload(test, []) { server, _, delegate, task in
      task.resume()
      try await expectArrived(server, task, delegate, test)
      #expect(delegate.informational.all == [104])
      #expect(server.state.current.requests.count == 1)
    }
  }

  @Test(arguments: cases) func itGoesOnAfterCuts(_ test: Case) async throws {
    let fates: [ResumableUploadServer.Fate] = [
      .cut(after: 400_000), .cut(after: 500_000), .untouched,
    ]
    try await withUpload(test, fates) { server, _, delegate, task in
      task.resume()
      try await expectArrived(server, task, delegate, test)
      let methods = server.state.current.requests.map { $0.prefix { $0 != " " } }
      #expect(methods.first == "POST" && methods.last == "PATCH" && methods.count { $0 == "POST" } == 1)
      #expect(methods.count { $0 == "PATCH" } >= 2)
      // What had arrived did not travel again: every stream after the first begins further on.
      if test.source == .stream {
        #expect(delegate.streams.all.first == 0 && delegate.streams.all.dropFirst().allSatisfy { $0 > 0 })
      }
    }
  }

  @Test(arguments: cases) func aCancelledUploadGoesOnInANewTask(_ test: Case) async throws {
    try await withUpload(test, [.stall(after: 200_000)]) { server, session, delegate, task in
      task.resume()
      _ = try await delegate.informational.next()
      let data = try #require(await task.cancelByProducingResumeData())
      let failure = try await delegate.ends.next()
      #expect(failure?.code == .cancelled && failure?.uploadTaskResumeData == data)
      #expect(server.state.current.uploads.isEmpty)
      let next = session.uploadTask(withResumeData: data)
      next.resume()
      try await expectArrived(server, next, delegate, test)
      #expect(server.state.current.requests.map { $0.prefix { $0 != " " } }.prefix(2) == ["POST", "HEAD"])
    }
  }

  @Test func completionHandlersAndCallsAreToldToo() async throws {
    try await ResumableUploadServer.run([.stall(after: 200_000)]) { server in
      let delegate = StreamingDelegate(body: Self.body)
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: serialQueue())
      let task = session.uploadTask(with: server.request(), from: Self.body)
      task.resume()
      _ = try await delegate.informational.next()
      let data = try #require(await task.cancelByProducingResumeData())
      let answers = Recorder<String>()
      session.uploadTask(withResumeData: data) { body, response, error in
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        answers.record("\(status) \(String(decoding: body ?? Data(), as: UTF8.self)) \(error == nil)")
      }.resume()
      #expect(try await answers.next() == "201 \(Self.size) bytes true")
      #expect(server.state.current.uploads.map(\.body.count) == [Self.size])
      session.finishTasksAndInvalidate()
    }
  }
}

/// Notes what an upload's delegate is told, and supplies streams of `body`.
private final class StreamingDelegate: NSObject, URLSessionDataDelegate, Sendable {
  let informational = Recorder<Int>()
  let sent = Recorder<[Int64]>()
  let streams = Recorder<Int64>()
  let received = Recorder<Data>()
  let ends = Recorder<URLError?>()
  private let body: Data

  init(body: Data) { self.body = body }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
  ) { informational.record(response.statusCode) }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { sent.record([totalBytesSent, totalBytesExpectedToSend]) }

  func urlSession(
    _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask
  ) async -> InputStream? {
    streams.record(0)
    return InputStream(data: body)
  }

  func urlSession(
    _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
  ) async -> InputStream? {
    streams.record(offset)
    return InputStream(data: body.dropFirst(Int(offset)))
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { received.record(data) }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    ends.record(error as? URLError)
  }
}

import EveryVersion
import Foundation
import Glibc
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct UploadTests {
  /// The app's stream waits for bytes that never come: the thread that reads it is given back.
  @Test func aCancelledUploadClosesItsBodyStream() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      _ = try await connection.readHead()
      while try await connection.read() != nil {}
    }
    let delegate = RecordingDelegate()
    let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: nil)
    var sockets: [CInt] = [-1, -1]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    defer { Glibc.close(sockets[1]) }
    let isClosed = Gate()
    let stream = SendableInputStream(WaitingStream(reading: sockets[0], isClosed: isClosed))
    var request = URLRequest(url: server.url())
    request.httpMethod = "POST"
    request.httpBodyStream = stream.stream
    let task = session.dataTask(with: request)
    task.resume()
    try await eventually("the stream to be open") { stream.stream.streamStatus == .open }
    task.cancel()
    try await delegate.done.wait(within: patience)
    try await isClosed.wait(within: patience)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A file of the test's own.
  private func makeFile(_ text: String) throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Data(text.utf8).write(to: url)
    return url
  }

  @Test func everySourceIsFramedAsItShould() async throws {
    try await withServer({ _ in .ok("thanks") }) { server in
      let file = try makeFile("from file")
      defer { try? FileManager.default.removeItem(at: file) }
      let delegate = RecordingDelegate()
      delegate.stream = { InputStream(data: Data("from stream".utf8)) }
      let session = URLSession.recording(delegate)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      // The factory's argument wins over the request's own body.
      request.httpBody = Data("own".utf8)
      var own = request
      own.httpBody = Data("own body".utf8)
      var withStream = request
      withStream.httpBodyStream = InputStream(data: Data("own stream".utf8))
      var withLength = withStream
      withLength.httpBodyStream = InputStream(data: Data("known".utf8))
      withLength.setValue("5", forHTTPHeaderField: "Content-Length")

      let tasks: [(URLSessionTask, String, isChunked: Bool)] = [
        (session.uploadTask(with: request, from: Data("from data".utf8)), "from data", false),
        (session.uploadTask(with: request, from: Data()), "", false),
        (session.uploadTask(with: request, fromFile: file), "from file", false),
        (session.uploadTask(withStreamedRequest: request), "from stream", true),
        (session.dataTask(with: own), "own body", false),
        (session.dataTask(with: withStream), "own stream", true),
        (session.dataTask(with: withLength), "known", false),
        (session.downloadTask(with: own), "own body", false),
      ]
      for (task, text, isChunked) in tasks {
        task.resume()
        let seen = try await server.nextRequest()
        #expect(seen.body.text == text)
        if isChunked {
          #expect(seen.value("Transfer-Encoding") == "chunked" && seen.value("Content-Length") == nil)
        } else {
          #expect(seen.framing == .length(Int64(text.utf8.count)))
        }
        try await eventually("the task to end") { task.state == .completed }
        #expect(task.error == nil)
        #expect(task.countOfBytesSent == Int64(text.utf8.count))
      }
      session.finishTasksAndInvalidate()
    }
  }

  @Test(arguments: [
    ("/nonexistent/file", URLError.Code.fileDoesNotExist), ("/proc/sys/net/ipv4/route/flush", .noPermissionsToReadFile),
    ("/", .fileIsDirectory),
  ])
  func aFileThatCannotBeReadFailsBeforeAnythingIsSent(_ path: String, _ code: URLError.Code) async throws {
    try await withServer({ _ in .ok("x") }) { server in
      let session = URLSession(configuration: .loopback)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let file = URL(fileURLWithPath: path)
      let error = await #expect(throws: URLError.self) { try await session.upload(for: request, fromFile: file) }
      #expect(error?.code == code)
      #expect(server.heads.isEmpty)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aStreamNobodySuppliesFails() async throws {
    try await withServer({ _ in .ok("x") }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      session.uploadTask(withStreamedRequest: URLRequest(url: server.url())).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.summary == ["created", "stream", "metrics", "failed -1021"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func progressAddsUp() async throws {
    final class Sums: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
      let reports = Recorder<[Int64]>()
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
      ) { reports.record([bytesSent, totalBytesSent, totalBytesExpectedToSend]) }
    }
    let count = 2_000_000
    try await withServer({ .ok("\($0.body.count)") }) { server in
      let sums = Sums()
      let session = URLSession(configuration: .loopback)
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      let (data, _) = try await session.upload(for: request, from: Data(count: count), delegate: sums)
      #expect(String(decoding: data, as: UTF8.self) == "\(count)")
      let reports = sums.reports.all
      #expect(reports.map { $0[0] }.reduce(0, +) == Int64(count))
      #expect(reports.last?[1] == Int64(count))
      #expect(reports.allSatisfy { $0[2] == Int64(count) })
      #expect(reports.map { $0[1] } == reports.map { $0[1] }.sorted())
      session.finishTasksAndInvalidate()
    }
  }
}

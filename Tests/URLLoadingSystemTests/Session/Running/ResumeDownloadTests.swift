import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite(.overHTTP1To3) struct ResumeDownloadTests {
  private let size: Int64 = 5_000_000

  /// Two answers: the first stops without an end after `count` bytes.
  private func stalling(after count: Int64, _ version: FileResource.Version? = nil) -> FileResource {
    let file = FileResource(version ?? FileResource.Version(size: size))
    file.update { $0.cuts = [.after(count, .stall)] }
    return file
  }

  @Test func onlyTheRestTravels() async throws {
    let file = stalling(after: 2_000_000)
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      let atResumption = Recorder<[Int64]>()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 2_000_000))
      let error = try #require(try await delegate.ends.next())
      #expect(error.code == .cancelled)
      #expect(error.downloadTaskResumeData == data)
      #expect(FileManager.default.fileExists(atPath: try partialFile(of: data).path))

      delegate.onResume = {
        atResumption.record([$0.countOfBytesReceived, $0.countOfBytesExpectedToReceive])
      }
      let task = session.downloadTask(withResumeData: data)
      #expect(task.originalRequest?.url == server.url())
      let progress = task.progress
      task.resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil])
      #expect(delegate.resumptions.all == [[2_000_000, size]])
      #expect(atResumption.all.first.map { $0[0] >= 2_000_000 && $0[1] == size } == true)
      #expect(delegate.writes.all.last == [delegate.writes.all.last?[0] ?? 0, size, size])
      #expect(delegate.writes.all.map { $0[0] }.reduce(0, +) == size)
      #expect((task.response as? HTTPURLResponse)?.statusCode == 206)
      #expect(progress.totalUnitCount == size && progress.completedUnitCount == size)
      #expect(file.served.map(\.rangeField) == [nil, "bytes=2000000-"])
      #expect(file.served.last?.ifRange == file.version.etag)
      #expect(file.bytesSent == size)
      #expect(!FileManager.default.fileExists(atPath: try partialFile(of: data).path))
      session.finishTasksAndInvalidate()
    }
  }

  @Test(arguments: [1, 65_535, 1_048_576, 1_048_577, 4_999_999] as [Int64])
  func aFailureHandsOverWhatArrived(at cut: Int64) async throws {
    let file = FileResource(size: size)
    // The second answer breaks off too, after its first byte.
    file.update { $0.cuts = [.after(cut), .after(1)] }
    try await withServer({ file.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback)
      var data: Data?
      var failures = 0
      while true {
        do {
          let (url, _) =
            if let data { try await session.download(resumeFrom: data) } else {
              try await session.download(from: server.url())
            }
          #expect(BytePattern().difference(toFile: url.path, count: size) == nil)
          try FileManager.default.removeItem(at: url)
          break
        } catch let error as URLError {
          failures += 1
          #expect(error.code == .networkConnectionLost)
          data = error.downloadTaskResumeData
          guard data != nil else { throw error }
        }
      }
      // A second answer of one byte is complete.
      #expect(failures == (cut == size - 1 ? 1 : 2))
      #expect(file.bytesSent == size)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aChangedResourceComesWhole() async throws {
    let file = stalling(after: 1_000_000)
    file.update { $0.replacement = (FileResource.Version(size: 3_000_000, seed: 9), beforeRequest: 2) }
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      delegate.pattern = BytePattern(seed: 9)
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil])
      #expect(delegate.resumptions.all == [[0, 3_000_000]])
      #expect(file.served.map(\.status) == [200, 200])
      #expect(!FileManager.default.fileExists(atPath: try partialFile(of: data).path))
      session.finishTasksAndInvalidate()
    }
  }

  /// Answers that do not continue what is there: the download starts over with a request of its own.
  static let misfits: [FileResource.ContentRange] = [
    .shifted(by: 1), .shifted(by: -1), .wrongTotal(6_000_000), .text("bytes 5-2/9"), .text("lines 1-2/3"), .missing,
  ]

  @Test(arguments: misfits.indices) func anAnswerThatDoesNotFitStartsOver(index: Int) async throws {
    let file = stalling(after: 1_000_000)
    file.update { $0.contentRange = Self.misfits[index] }
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil])
      #expect(delegate.resumptions.all == [[0, size]])
      #expect(file.served.map(\.rangeField) == [nil, "bytes=1000000-", nil])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func nothingLeftToFetchIsSuccess() async throws {
    let size = self.size
    let version = FileResource.Version(size: size)
    let file = FileResource(version)
    let first = Reply([
      .head(200, fields: [("ETag", version.etag ?? ""), ("Transfer-Encoding", "chunked")]),
      .patternChunks(BytePattern(), count: size, each: 64 * 1024), .stall,
    ])
    try await withServer({ $0.value("Range") == nil ? first : file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: size))
      _ = try await delegate.ends.next()
      let task = session.downloadTask(withResumeData: data)
      task.resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(file.served.map(\.status) == [416])
      #expect(delegate.files.all == [nil])
      #expect(delegate.resumptions.all == [[size, size]])
      #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
      #expect(task.response?.expectedContentLength == size)
      session.finishTasksAndInvalidate()
    }
  }

  enum Total: Sendable, CaseIterable { case always, atTheEnd, never }

  /// RFC 9110 §15.3.7 lets a server send less than was asked for, and it need not know how much there is.
  @Test(arguments: Total.allCases) func partsOfTheRestAreAskedForUntilTheEnd(total: Total) async throws {
    let first = FileResource(size: 1000)
    first.update {
      $0.hidesLength = total != .always
      $0.cuts = [.after(100)]
    }
    let handler: LoopbackServer.Handler = { request in
      guard let start = request.value("Range").flatMap({ Int64($0.dropFirst(6).dropLast()) }) else {
        return first.reply(to: request)
      }
      guard start < 1000 else { return .status(416, fields: [("Content-Range", "bytes */1000")]) }
      let end = min(start + 300, 1000)
      let isTold = total == .always || total == .atTheEnd && end == 1000
      return Reply([
        .head(
          206,
          fields: [
            ("Content-Range", "bytes \(start)-\(end - 1)/\(isTold ? "1000" : "*")"),
            ("Content-Length", "\(end - start)"),
          ]), .pattern(BytePattern(), from: start, count: end - start),
      ])
    }
    try await withServer(handler) { server in
      let session = URLSession(configuration: .loopback)
      let cut = await #expect(throws: URLError.self) { try await session.download(from: server.url()) }
      let (url, _) = try await session.download(resumeFrom: try #require(cut?.downloadTaskResumeData))
      #expect(BytePattern().difference(toFile: url.path, count: 1000) == nil)
      var ranges = [nil, "bytes=100-", "bytes=400-", "bytes=700-"]
      if total == .never { ranges.append("bytes=1000-") }
      #expect(server.requests.map { $0.value("Range") } == ranges)
      try FileManager.default.removeItem(at: url)
      session.finishTasksAndInvalidate()
    }
  }

  /// The resource changes between two parts: what is there is kept for a task that finds that out and starts over.
  @Test func aPartOfAnotherResourceEndsTheTask() async throws {
    let handler: LoopbackServer.Handler = { request in
      let range = request.value("Range")
      let (tag, seed): (String, UInt64) = range == "bytes=400-" ? ("\"b\"", 2) : ("\"a\"", 1)
      guard range == "bytes=100-" else {
        return Reply([
          .head(200, fields: [("ETag", tag), ("Content-Length", "1000")]),
          .pattern(BytePattern(seed: seed), count: 100),
          .closeGracefully,
        ])
      }
      return Reply([
        .head(206, fields: [("ETag", tag), ("Content-Range", "bytes 100-399/1000"), ("Content-Length", "300")]),
        .pattern(BytePattern(), from: 100, count: 300),
      ])
    }
    try await withServer(handler) { server in
      let session = URLSession(configuration: .loopback)
      let cut = await #expect(throws: URLError.self) { try await session.download(from: server.url()) }
      let data = try #require(cut?.downloadTaskResumeData)
      let changed = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
      #expect(changed?.code == .networkConnectionLost)
      let left = try #require(changed?.downloadTaskResumeData)
      try FileManager.default.removeItem(at: try partialFile(of: left))
      #expect(server.requests.map { $0.value("Range") } == [nil, "bytes=100-", "bytes=400-"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aStrongDateIsEnoughToResume() async throws {
    var version = FileResource.Version(size: size)
    version.etag = nil
    let file = stalling(after: 700_000, version)
    try await withServer({ file.reply(to: $0) }) { server in
      let session = URLSession(configuration: .loopback)
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 700_000))
      let ended = Recorder<String?>()
      let size = self.size
      session.downloadTask(withResumeData: data) { url, _, error in
        ended.record(error.map { "\($0)" } ?? BytePattern().difference(toFile: url?.path ?? "", count: size))
      }.resume()
      #expect(try await ended.next() == nil)
      #expect(file.served.last?.ifRange == version.lastModified)
      #expect(file.bytesSent == size)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aDataTaskThatBecameADownloadCanBeResumed() async throws {
    let file = stalling(after: 1_500_000)
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      delegate.becomesDownload = true
      let session = delegate.makeSession()
      session.dataTask(with: server.url()).resume()
      let download = try await delegate.downloads.next()
      let data = try #require(try await interrupt(download, after: 1_500_000))
      _ = try await delegate.ends.next()
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil])
      #expect(file.bytesSent == size)
      session.finishTasksAndInvalidate()
    }
  }

  // MARK: What can't be resumed

  struct Unresumable: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var fields: [(String, String)] = [("ETag", "\"a\"")]
    var method = "GET"
    var requestFields: [String: String] = [:]
    var status = 200
  }

  static let unresumable = [
    Unresumable(testDescription: "no validator", fields: []),
    Unresumable(testDescription: "a weak tag", fields: [("ETag", "W/\"a\"")]),
    Unresumable(
      testDescription: "a date within the second",
      fields: [("Last-Modified", "Mon, 05 Jan 2026 10:00:00 GMT"), ("Date", "Mon, 05 Jan 2026 10:00:00 GMT")]),
    Unresumable(testDescription: "no ranges", fields: [("ETag", "\"a\""), ("Accept-Ranges", "none")]),
    Unresumable(testDescription: "an unknown coding", fields: [("ETag", "\"a\""), ("Content-Encoding", "rot13")]),
    Unresumable(testDescription: "a POST", method: "POST"),
    Unresumable(testDescription: "a range of the app's", requestFields: ["Range": "bytes=0-"]),
    Unresumable(testDescription: "a condition of the app's", requestFields: ["If-None-Match": "\"b\""]),
    Unresumable(testDescription: "a failure", status: 500),
  ]

  @Test(arguments: unresumable) func leavesNoResumeData(_ row: Unresumable) async throws {
    let reply = Reply([
      .head(row.status, fields: row.fields + [("Content-Length", "9000")]), .pattern(BytePattern(), count: 5000),
      .stall,
    ])
    try await withServer({ _ in reply }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      var request = URLRequest(url: server.url())
      request.httpMethod = row.method
      for (name, value) in row.requestFields { request.setValue(value, forHTTPHeaderField: name) }
      #expect(try await interrupt(session.downloadTask(with: request), after: 5000) == nil)
      let error = try await delegate.ends.next()
      #expect(error?.code == .cancelled && error?.downloadTaskResumeData == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func plainCancellingRemovesThePartialFile() async throws {
    let file = stalling(after: 1_000_000)
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      file.update { $0.cuts = [.after(1), .after(1000, .stall)] }
      let task = session.downloadTask(withResumeData: data)
      task.resume()
      _ = try await delegate.resumptions.next()
      task.cancel()
      let error = try await delegate.ends.next()
      #expect(error?.code == .cancelled && error?.downloadTaskResumeData == nil)
      #expect(!FileManager.default.fileExists(atPath: try partialFile(of: data).path))
      // Over: nothing more to hand over.
      #expect(await task.cancelByProducingResumeData() == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aTaskWithoutAConnectionLeavesTheResumeData() async throws {
    let file = stalling(after: 1_000_000)
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { file.reply(to: $0) }
    let delegate = ResumingDelegate()
    let session = delegate.makeSession()
    let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
    _ = try await delegate.ends.next()
    // Never started.
    #expect(await session.downloadTask(withResumeData: data).cancelByProducingResumeData() == data)
    #expect(try await delegate.ends.next()?.downloadTaskResumeData == data)
    // Nobody there.
    await server.shutdown()
    session.downloadTask(withResumeData: data).resume()
    let error = try #require(try await delegate.ends.next())
    // What speaks HTTP/3 for the server takes the connection before it finds out that the server is gone.
    #expect(error.code == (WireVersion.current == .http3 ? .networkConnectionLost : .cannotConnectToHost))
    #expect(error.downloadTaskResumeData == data)
    try FileManager.default.removeItem(at: try partialFile(of: data))
    session.finishTasksAndInvalidate()
  }

  /// The answer is the file; what was there before stays, and the same resume data goes on with it.
  @Test(arguments: [404, 403, 429, 500, 503, 204]) func anErrorResponseLeavesThePartialFile(status: Int)
    async throws
  {
    let file = stalling(after: 1_000_000)
    let answers = Recorder<Int>()
    try await withServer({ request in
      guard request.value("Range") != nil, answers.all.isEmpty else { return file.reply(to: request) }
      answers.record(status)
      return status == 204 ? .status(204) : .status(status, body: "sorry")
    }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      delegate.pattern = BytePattern(seed: 77)
      let failed = session.downloadTask(withResumeData: data)
      failed.resume()
      #expect(try await delegate.ends.next() == nil)
      #expect((failed.response as? HTTPURLResponse)?.statusCode == status)
      #expect(failed.countOfBytesReceived == (status == 204 ? 0 : 5))
      #expect(delegate.resumptions.all.isEmpty)
      delegate.pattern = BytePattern()
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all.count == 2 && delegate.files.all.last == .some(nil))
      #expect(delegate.resumptions.all == [[1_000_000, size]])
      #expect(file.bytesSent == size)
      session.finishTasksAndInvalidate()
    }
  }

  /// A failure whose body breaks off is the end of that task, not of the download.
  @Test func anErrorResponseThatBreaksOffLeavesTheResumeData() async throws {
    let file = stalling(after: 1_000_000)
    let broken = Reply([.head(503, fields: [("Content-Length", "100")]), .body("sorry"), .closeGracefully])
    let answers = Recorder<Int>()
    try await withServer({ request in
      guard request.value("Range") != nil, answers.all.isEmpty else { return file.reply(to: request) }
      answers.record(503)
      return broken
    }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      session.downloadTask(withResumeData: data).resume()
      let error = try #require(try await delegate.ends.next())
      #expect(error.code == .networkConnectionLost && error.downloadTaskResumeData == data)
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next() == nil)
      #expect(delegate.files.all == [nil])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func twoTasksCanNotShareAPartialFile() async throws {
    let file = stalling(after: 1_000_000)
    try await withServer({ file.reply(to: $0) }) { server in
      let delegate = ResumingDelegate()
      let session = delegate.makeSession()
      let data = try #require(try await interrupt(session.downloadTask(with: server.url()), after: 1_000_000))
      _ = try await delegate.ends.next()
      let gate = Gate()
      delegate.onResume = { _ in gate.open() }
      file.update { $0.cuts = [.after(1), .after(0, .stall)] }
      let first = session.downloadTask(withResumeData: data)
      first.resume()
      try await gate.wait(within: patience)
      session.downloadTask(withResumeData: data).resume()
      #expect(try await delegate.ends.next()?.code == .cannotOpenFile)
      first.cancel()
      #expect(try await delegate.ends.next()?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }
}

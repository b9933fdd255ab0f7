import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite(.overEveryVersion) struct ResumeUploadTests {
  /// What is sent after a cut, whatever the cut: what the server lacks.
  struct Cut: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Made anew for each run: what it answers, it answers once.
    let script: @Sendable () -> UploadScript
    /// The parts that PATCH carried.
    let parts: [Range<Int>]
  }

  static let cuts: [Cut] = [
    Cut(
      testDescription: "before the first byte",
      script: { UploadScript(post: [.cutOffered(0)], head: [UploadScript.has(0)], patch: [UploadScript.take()]) },
      parts: [0..<600_000]),
    Cut(
      testDescription: "in the middle",
      script: { UploadScript(post: [.cutOffered(1000)], head: [UploadScript.has(1000)], patch: [UploadScript.take()]) },
      parts: [1000..<600_000]),
    Cut(
      testDescription: "after the last byte",
      script: {
        UploadScript(
          post: [.cutOffered(600_000)], head: [UploadScript.has(600_000)], patch: [UploadScript.take()])
      },
      parts: [600_000..<600_000]),
    Cut(
      testDescription: "in the question too",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [Reply([.reset]), UploadScript.has(1000)], patch: [UploadScript.take()])
      },
      parts: [1000..<600_000]),
    Cut(
      testDescription: "a server that needs time",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [.status(503), UploadScript.has(1000)], patch: [UploadScript.take()])
      },
      parts: [1000..<600_000]),
    Cut(
      testDescription: "in the rest, three times",
      script: {
        UploadScript(
          post: [.cutOffered(1000)],
          head: [1000, 2000, 3000, 4000].map { UploadScript.has($0) },
          patch: [
            Reply([.readRequestBody(upTo: 1000), .reset]), Reply([.readRequestBody(upTo: 1000), .reset]),
            Reply([.readRequestBody(upTo: 1000), .reset]), UploadScript.take(),
          ])
      },
      parts: [1000..<600_000, 2000..<600_000, 3000..<600_000, 4000..<600_000]),
    Cut(
      testDescription: "a conflict",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [UploadScript.has(1000), UploadScript.has(1500)],
          patch: [UploadScript.take(409, fields: [("Upload-Offset", "1500")]), UploadScript.take()])
      },
      parts: [1000..<600_000, 1500..<600_000]),
    Cut(
      testDescription: "an answer that more is wanted",
      script: {
        UploadScript(
          post: [.incomplete(fields: [("Location", "/resume/1"), ("Upload-Offset", "1000")])],
          head: [UploadScript.has(1000)], patch: [UploadScript.take()])
      },
      parts: [1000..<600_000]),
    Cut(
      testDescription: "an answer that more is wanted, after an offer",
      script: {
        UploadScript(
          post: [Reply.incomplete().preceded(by: [UploadScript.offer()])], head: [UploadScript.has(1000)],
          patch: [UploadScript.take()])
      },
      parts: [1000..<600_000]),
    Cut(
      testDescription: "a limit on parts",
      script: {
        UploadScript(
          post: [.cutOffered(100_000, limit: "max-append-size=200000")], head: [UploadScript.has(100_000)],
          patch: [
            UploadScript.take(204, fields: [("Upload-Offset", "300000"), ("Upload-Complete", "?0")]),
            UploadScript.take(204), UploadScript.take(),
          ])
      },
      parts: [100_000..<300_000, 300_000..<500_000, 500_000..<600_000]),
  ]

  @Test(arguments: cuts) func onlyMissingBytesAreSent(_ cut: Cut) async throws {
    try await cut.script().run { server in
      let session = URLSession(configuration: .loopback)
      let request = UploadScript.request(server)
      let (_, response) = try await session.upload(for: request, from: UploadScript.body)
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
      let seen = server.requests
      #expect(seen.first?.value("Upload-Complete") == "?1")
      #expect(seen.first?.value("Upload-Draft-Interop-Version") == "6")
      let patches = seen.filter { $0.method == "PATCH" }
      #expect(patches.count == cut.parts.count)
      for (patch, part) in zip(patches, cut.parts) {
        #expect(patch.path == "/resume/1")
        #expect(patch.value("Upload-Offset") == "\(part.lowerBound)")
        #expect(patch.value("Content-Length") == "\(part.count)")
        #expect(patch.value("Content-Type") == "application/partial-upload")
        #expect(patch.value("Upload-Complete") == (part.upperBound == UploadScript.size ? "?1" : "?0"))
        #expect(patch.value("Authorization") == "secret")
        #expect(BytePattern().matches(patch.body.bytes, at: Int64(part.lowerBound)))
        if patch.isComplete { #expect(patch.body.count == part.count) }
      }
      for head in seen where head.method == "HEAD" {
        #expect(head.value("Upload-Draft-Interop-Version") == "6" && head.value("Upload-Offset") == nil)
        #expect(head.value("Content-Type") == nil)
      }
      session.finishTasksAndInvalidate()
    }
  }

  @Test func progressGoesOnWhereTheServerIs() async throws {
    let script = UploadScript(
      post: [.cutOffered(300_000)], head: [UploadScript.has(300_000)], patch: [UploadScript.take()])
    try await script.run { server in
      let delegate = UploadDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
      let task = session.uploadTask(with: UploadScript.request(server), from: UploadScript.body)
      task.resume()
      let end = try await delegate.ends.next()
      #expect(end == nil)
      #expect(delegate.informational.all == [104])
      #expect(delegate.sent.all.last == [600_000, 600_000])
      #expect(delegate.sent.all.allSatisfy { $0[1] == 600_000 })
      #expect(task.countOfBytesSent == 600_000)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func versionThreeIsUsedWithServersOfVersionThree() async throws {
    let script = UploadScript(
      post: [.cutOffered(1000, version: "3")],
      head: [.status(204, fields: [("Upload-Offset", "1000"), ("Upload-Incomplete", "?1")])],
      patch: [UploadScript.take()])
    try await script.run { server in
      let session = URLSession(configuration: .loopback)
      _ = try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      let patch = try #require(server.requests.last)
      #expect(patch.value("Upload-Draft-Interop-Version") == "3")
      #expect(patch.value("Upload-Incomplete") == "?0" && patch.value("Upload-Complete") == nil)
      session.finishTasksAndInvalidate()
    }
  }

  // MARK: The ways to fail

  @Test(arguments: [
    [Reply.status(404)], [UploadScript.has(600_001)], [.status(204)],
  ]) func anUploadThatIsGoneEndsAsItWasCut(head: [Reply]) async throws {
    try await UploadScript(post: [.cutOffered(1000)], head: head).run { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      }
      #expect(error?.code == .networkConnectionLost)
      #expect(error?.uploadTaskResumeData == nil)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func anIncompleteUploadWithoutALocationFails() async throws {
    try await UploadScript(post: [.incomplete()]).run { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      }
      #expect(error?.code == .badServerResponse)
      #expect(server.requests.map(\.method) == ["POST"])
      session.finishTasksAndInvalidate()
    }
  }

  /// The delegate has a stream for the beginning, and none for the rest.
  @Test func withoutAStreamForTheRestItEndsAsItWasCut() async throws {
    try await UploadScript(post: [.cutOffered(1000)], head: [UploadScript.has(1000)]).run { server in
      let delegate = RecordingDelegate()
      delegate.stream = { InputStream(data: UploadScript.body) }
      let session = URLSession.recording(delegate)
      session.uploadTask(withStreamedRequest: UploadScript.request(server)).resume()
      try await delegate.done.wait(within: patience)
      #expect(delegate.errors.all.map(\.code) == [.networkConnectionLost])
      #expect(delegate.errors.all.first?.uploadTaskResumeData != nil)
      #expect(server.requests.map(\.method) == ["POST", "HEAD"])
      session.finishTasksAndInvalidate()
    }
  }

  /// Up and down again is no progress, however often.
  @Test func offsetsThatAlternateAreNoProgress() async throws {
    let offsets = [2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000].map { UploadScript.has($0) }
    let cuts = offsets.map { _ in Reply([.readRequestBody(upTo: 10), .reset]) }
    try await UploadScript(post: [.cutOffered(1000)], head: offsets, patch: cuts).run { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      }
      #expect(error?.code == .networkConnectionLost)
      #expect(server.requests.count { $0.method == "HEAD" } == 4)
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aServerWithoutAnOfferIsNotAskedForItsOffset() async throws {
    try await UploadScript(post: [Reply([.readRequestBody(upTo: 1000), .reset])]).run { server in
      let session = URLSession(configuration: .loopback)
      let error = await #expect(throws: URLError.self) {
        try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      }
      #expect(error?.code == .networkConnectionLost && error?.uploadTaskResumeData == nil)
      #expect(server.requests.map(\.method) == ["POST"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test func aServerThatHasEverythingEndsTheUpload() async throws {
    let script = UploadScript(post: [.cutOffered(600_000)], head: [UploadScript.has(600_000, complete: "?1")])
    try await script.run { server in
      let session = URLSession(configuration: .loopback)
      let (data, response) = try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
      #expect(data.isEmpty && (response as? HTTPURLResponse)?.statusCode == 204)
      session.finishTasksAndInvalidate()
    }
  }

  /// Those of the request (`UploadScript.request` has an Authorization), and those of the session.
  @Test func credentialsStayWithTheirOrigin() async throws {
    try await UploadScript(post: [], head: [UploadScript.has(10)], patch: [UploadScript.take()]).run { other in
      let offer = ReplyStep.informational(104, fields: [("Location", other.url("/resume/1").absoluteString)])
      try await UploadScript(post: [Reply([offer, .readRequestBody(upTo: 10), .reset])]).run { server in
        let configuration = URLSessionConfiguration.loopback
        configuration.httpAdditionalHeaders = ["Cookie": "session=secret"]
        let session = URLSession(configuration: configuration)
        _ = try await session.upload(for: UploadScript.request(server), from: UploadScript.body)
        #expect(other.requests.map(\.method) == ["HEAD", "PATCH"])
        #expect(other.requests.allSatisfy { $0.value("Authorization") == nil && $0.value("Cookie") == nil })
        #expect(server.requests.first?.value("Cookie") == "session=secret")
        session.finishTasksAndInvalidate()
      }
    }
  }

  // MARK: Resume data

  /// Cancels in the middle for resume data.
  private func interrupt(_ task: URLSessionUploadTask, _ delegate: UploadDelegate) async throws -> Data {
    task.resume()
    _ = try await delegate.informational.next()
    let data = try #require(await task.cancelByProducingResumeData())
    let failure = try await delegate.ends.next()
    #expect(failure?.uploadTaskResumeData == data)
    return data
  }

  enum Source: String, CaseIterable, Sendable { case data, file, stream }

  @Test(arguments: Source.allCases) func aCancelledUploadGoesOnInANewTask(_ source: Source) async throws {
    let script = UploadScript(
      post: [.cutOffered(1000, ending: .stall)], head: [UploadScript.has(1000)], patch: [UploadScript.take(text: "ok")])
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try UploadScript.body.write(to: file)
    try await script.run { server in
      let delegate = UploadDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
      let request = UploadScript.request(server)
      let task =
        switch source {
        case .data: session.uploadTask(with: request, from: UploadScript.body)
        case .file: session.uploadTask(with: request, fromFile: file)
        case .stream: session.uploadTask(withStreamedRequest: request)
        }
      let data = try await interrupt(task, delegate)
      let next = session.uploadTask(withResumeData: data)
      next.resume()
      let end = try await delegate.ends.next()
      #expect(end == nil)
      #expect((next.response as? HTTPURLResponse)?.statusCode == 200)
      // The request that stalled is recorded when its connection ends, whenever that is.
      let patch = try #require(server.requests.first { $0.method == "PATCH" })
      #expect(patch.value("Upload-Offset") == "1000")
      #expect(patch.body.count == 599_000)
      #expect(BytePattern().matches(patch.body.bytes, at: 1000))
      #expect(delegate.streams.all == (source == .stream ? [0, 1000] : []))
      session.finishTasksAndInvalidate()
    }
    try FileManager.default.removeItem(at: file)
  }

  @Test func aFileThatHasChangedIsNotSent() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try UploadScript.body.write(to: file)
    try await UploadScript(post: [.cutOffered(1000, ending: .stall)]).run { server in
      let delegate = UploadDelegate()
      let session = URLSession(configuration: .loopback, delegate: delegate, delegateQueue: serialQueue())
      let data = try await interrupt(
        session.uploadTask(with: UploadScript.request(server), fromFile: file), delegate)
      // Same length, other content.
      try Data(count: UploadScript.size).write(to: file)
      session.uploadTask(withResumeData: data).resume()
      let failure = try await delegate.ends.next()
      #expect(failure?.code == .cannotOpenFile)
      #expect(server.heads.map(\.method) == ["POST"])
      session.finishTasksAndInvalidate()
    }
    try FileManager.default.removeItem(at: file)
  }

  @Test func invalidResumeDataFailsTheTask() async throws {
    let session = URLSession(configuration: .loopback)
    let header = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    for data in [Data(), Data("x".utf8), Data((header + String(repeating: "<dict>", count: 100_000)).utf8)] {
      let ends = Recorder<URLError.Code?>()
      session.uploadTask(withResumeData: data) { _, _, error in ends.record((error as? URLError)?.code) }.resume()
      let code = try await ends.next()
      #expect(code == .unsupportedURL)
    }
    session.finishTasksAndInvalidate()
  }
}

extension Reply {
  static func incomplete(fields: [(String, String)] = []) -> Reply {
    UploadScript.take(201, fields: fields + [("Upload-Draft-Interop-Version", "6"), ("Upload-Complete", "?0")])
  }

  static func cutOffered(
    _ count: Int64, limit: String? = nil, version: String = "6", ending: ReplyStep = .reset
  ) -> Reply { UploadScript.cut(after: count, limit: limit, version: version, ending) }
}

/// Notes what an upload's delegate is told, and supplies streams of the pattern.
final class UploadDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  let informational = Recorder<Int>()
  let sent = Recorder<[Int64]>()
  let streams = Recorder<Int64>()
  let ends = Recorder<URLError?>()

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
  ) { informational.record(response.statusCode) }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { sent.record([totalBytesSent, totalBytesExpectedToSend]) }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    streams.record(0)
    completionHandler(InputStream(data: UploadScript.body))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
    completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    streams.record(offset)
    completionHandler(InputStream(data: UploadScript.body.dropFirst(Int(offset))))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    ends.record(error as? URLError)
  }
}

import EveryVersion
import Foundation
import HTTPSemantics
import HTTPTransport
import LoopbackServer
import Testing

@testable import URLLoadingSystem

/// What servers do to an upload that can be resumed, and what comes of it from each source, over each version of HTTP.
/// No task is involved: the transfer service uses the flow in the same way.
@Suite(.overEveryVersion) struct ResumableUploadTests {
  enum Source: CaseIterable, Sendable { case data, file, stream }

  enum End: Sendable, Equatable {
    case answered(Int)
    /// - canResume: whether the server's resource for the upload is still of use.
    case failed(URLError.Code, canResume: Bool)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Made anew for each run.
    let script: @Sendable () -> UploadScript
    let end: End
    /// The part of the body that each PATCH announced.
    var parts: @Sendable (Source) -> [Range<Int>] = { _ in [] }
  }

  private static let size = UploadScript.size

  static let rows: [Row] = [
    Row(
      testDescription: "a server that takes all of it", script: { UploadScript(post: [UploadScript.take()]) },
      end: .answered(200)),
    Row(
      testDescription: "a cut in the middle",
      script: { UploadScript(post: [.cutOffered(1000)], head: [UploadScript.has(1000)], patch: [UploadScript.take()]) },
      end: .answered(200), parts: { _ in [1000..<size] }),
    Row(
      testDescription: "a cut before the first byte",
      script: { UploadScript(post: [.cutOffered(0)], head: [UploadScript.has(0)], patch: [UploadScript.take()]) },
      end: .answered(200), parts: { _ in [0..<size] }),
    Row(
      testDescription: "cuts in the rest",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [UploadScript.has(1000), UploadScript.has(2000)],
          patch: [Reply([.readRequestBody(upTo: 1000), .reset]), UploadScript.take()])
      },
      end: .answered(200), parts: { _ in [1000..<size, 2000..<size] }),
    Row(
      testDescription: "a server that needs time",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [.status(503), UploadScript.has(1000)], patch: [UploadScript.take()])
      },
      end: .answered(200), parts: { _ in [1000..<size] }),
    Row(
      testDescription: "another offset than the server said before",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [UploadScript.has(1000), UploadScript.has(500)],
          patch: [UploadScript.take(409, fields: [("Upload-Offset", "500")]), UploadScript.take()])
      },
      end: .answered(200), parts: { _ in [1000..<size, 500..<size] }),
    Row(
      testDescription: "a limit on parts",
      script: {
        UploadScript(
          post: [.cutOffered(100_000, limit: "max-append-size=300000")], head: [UploadScript.has(100_000)],
          patch: [UploadScript.take(), UploadScript.take()])
      },
      end: .answered(200),
      // A stream can't be cut into parts: it is read once, to its end.
      parts: { $0 == .stream ? [100_000..<size] : [100_000..<400_000, 400_000..<size] }),
    Row(
      testDescription: "everything was there",
      script: { UploadScript(post: [.cutOffered(10)], head: [UploadScript.has(size, complete: "?1")]) },
      end: .answered(204)),
    Row(
      testDescription: "a server that forgot the upload",
      script: { UploadScript(post: [.cutOffered(10)], head: [.status(404)]) },
      end: .failed(.networkConnectionLost, canResume: false)),
    Row(
      testDescription: "a server that has more than there is",
      script: { UploadScript(post: [.cutOffered(10)], head: [UploadScript.has(size + 1)]) },
      end: .failed(.networkConnectionLost, canResume: false)),
    Row(
      testDescription: "a server that does not say how much it has",
      script: { UploadScript(post: [.cutOffered(10)], head: [.status(204)]) },
      end: .failed(.networkConnectionLost, canResume: false)),
    Row(
      testDescription: "a limit on the whole that it exceeds",
      script: {
        UploadScript(
          post: [.cutOffered(10)],
          head: [.status(204, fields: [("Upload-Offset", "10"), ("Upload-Limit", "max-size=1000")])])
      },
      end: .failed(.networkConnectionLost, canResume: false)),
    Row(
      testDescription: "a server that takes nothing more",
      script: {
        UploadScript(
          post: [.cutOffered(10)], head: [10, 10, 10, 10].map { UploadScript.has($0) },
          patch: [Reply([.reset]), Reply([.reset]), Reply([.reset]), Reply([.reset])])
      },
      end: .failed(.networkConnectionLost, canResume: true),
      parts: { _ in [10..<size, 10..<size, 10..<size, 10..<size] }),
    Row(
      testDescription: "a server that is too busy for the rest",
      script: {
        UploadScript(
          post: [.cutOffered(1000)], head: [UploadScript.has(1000), UploadScript.has(1000)],
          patch: [UploadScript.take(503), UploadScript.take()])
      },
      end: .answered(200), parts: { _ in [1000..<size, 1000..<size] }),
    Row(
      testDescription: "a server that stays too busy to tell",
      script: { UploadScript(post: [.cutOffered(10)], head: [.status(503), .status(503), .status(429)]) },
      end: .failed(.badServerResponse, canResume: true)),
    Row(
      testDescription: "a server that stays too busy for the rest",
      script: {
        UploadScript(
          post: [.cutOffered(10)], head: [10, 10, 10, 10].map { UploadScript.has($0) },
          patch: [UploadScript.take(503), UploadScript.take(429), UploadScript.take(500), UploadScript.take(503)])
      },
      end: .failed(.badServerResponse, canResume: true),
      parts: { _ in [10..<size, 10..<size, 10..<size, 10..<size] }),
    Row(
      testDescription: "a failure of the whole",
      script: {
        UploadScript(
          post: [.cutOffered(10)], head: [UploadScript.has(10)],
          patch: [UploadScript.take(500, fields: [("Upload-Complete", "?1")])])
      },
      end: .answered(500), parts: { _ in [10..<size] }),
    Row(
      testDescription: "a server that offers nothing",
      script: { UploadScript(post: [Reply([.readRequestBody(upTo: 10), .reset])]) },
      end: .failed(.networkConnectionLost, canResume: false)),
    Row(
      testDescription: "a refusal of the rest",
      script: { UploadScript(post: [.cutOffered(10)], head: [UploadScript.has(10)], patch: [UploadScript.take(403)]) },
      end: .answered(403), parts: { _ in [10..<size] }),
  ]

  @Test(arguments: rows, Source.allCases) func endsAs(_ row: Row, _ kind: Source) async throws {
    try await withSource(kind) { source, transport in
      try await row.script().run { server in
        let one = UploadTry(streaming: kind == .stream ? UploadScript.body : nil)
        let (end, place) = try await one.run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport)
        switch end {
        case .answered(let status, _): #expect(row.end == .answered(status))
        case .failed(let code): #expect(row.end == .failed(code, canResume: place.resource != nil))
        case .refused(let refusal): Issue.record("\(refusal)")
        }
        let patches = server.heads.filter { $0.method == "PATCH" }
        let parts = row.parts(kind)
        #expect(patches.map { $0.value("Upload-Offset") } == parts.map { "\($0.lowerBound)" })
        #expect(patches.map { $0.value("Content-Length") } == parts.map { "\($0.count)" })
        for request in server.requests where request.method == "PATCH" {
          let offset = request.value("Upload-Offset").flatMap { Int64($0) } ?? -1
          #expect(BytePattern().matches(request.body.bytes, at: offset))
        }
        #expect(one.progress.all.allSatisfy { $0[0] <= $0[1] && $0[1] == Int64(UploadScript.size) })
        // What the client would have kept is where the flow was.
        if let last = one.places.all.last { #expect(last == place) }
        #expect(place.acknowledged == parts.last.map { Int64($0.lowerBound) } ?? 0)
        transport.shutDown()
      }
    }
  }

  /// What `uploadAdvanced` told is enough for a new try, in a new process say.
  @Test(arguments: Source.allCases) func aLaterTryResumesFromThePlace(_ kind: Source) async throws {
    let script = UploadScript(
      post: [.cutOffered(1000)], head: [UploadScript.has(1000), UploadScript.has(2000)],
      patch: [UploadScript.take(503, fields: [("Retry-After", "120")]), UploadScript.take(text: "ok")])
    try await withSource(kind) { source, transport in
      try await script.run { server in
        let content = kind == .stream ? UploadScript.body : nil
        let first = UploadTry(streaming: content)
        let (broken, _) = try await first.run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport,
          busyServer: .endsTheTry)
        guard case .refused(PassingRefusal(status: 503, wait: 120)) = broken else {
          return #expect(Bool(false), "\(broken)")
        }
        let kept = try #require(first.places.all.last)
        #expect(kept.resource?.path == "/resume/1" && kept.acknowledged == 1000)
        let second = UploadTry(streaming: content)
        let (end, _) = try await second.run(UploadScript.request(server), from: source, to: kept, over: transport)
        guard case .answered(200, "ok") = end else { return #expect(Bool(false), "\(end)") }
        #expect(server.heads.map(\.method) == ["POST", "HEAD", "PATCH", "HEAD", "PATCH"])
        let last = try #require(server.requests.last)
        #expect(last.value("Upload-Offset") == "2000" && last.body.count == UploadScript.size - 2000)
        transport.shutDown()
      }
    }
  }

  /// The transfer service waits as long as the server says, and the server keeps what it has.
  @Test(arguments: [408, 429, 500, 503, 507], ["HEAD", "PATCH"])
  func aBusyServerEndsATryOfTheService(status: Int, method: String) async throws {
    let busy = UploadScript.take(status, fields: [("Retry-After", "120")])
    let script = UploadScript(
      post: [.cutOffered(1000)],
      head: [method == "HEAD" ? .status(status, fields: [("Retry-After", "120")]) : UploadScript.has(1000)],
      patch: [busy])
    try await withSource(.data) { source, transport in
      try await script.run { server in
        let (end, place) = try await UploadTry().run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport,
          busyServer: .endsTheTry)
        guard case .refused(let refusal) = end else { return #expect(Bool(false), "\(end)") }
        #expect(refusal == PassingRefusal(status: status, wait: 120))
        #expect(place.resource?.path == "/resume/1" && place.acknowledged == (method == "HEAD" ? 0 : 1000))
        #expect(server.heads.map(\.method) == (method == "HEAD" ? ["POST", "HEAD"] : ["POST", "HEAD", "PATCH"]))
        transport.shutDown()
      }
    }
  }

  /// The server may hold the former connection for open for a long time.
  @Test func aRequestThatIsStillWorkedOnIsWaitedForShortly() async throws {
    let script = UploadScript(post: [.cutOffered(1000)], head: [.status(423), .status(423), .status(423)])
    try await withSource(.data) { source, transport in
      try await script.run { server in
        let (end, place) = try await UploadTry().run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport,
          busyServer: .endsTheTry)
        guard case .refused(PassingRefusal(status: 423)) = end else { return #expect(Bool(false), "\(end)") }
        #expect(place.resource != nil && server.heads.map(\.method) == ["POST", "HEAD", "HEAD", "HEAD"])
        transport.shutDown()
      }
    }
  }

  /// The last try that an app allows takes the server's answer.
  @Test func theLastTryTakesTheAnswerOfABusyServer() async throws {
    let script = UploadScript(
      post: [.cutOffered(1000)], head: [.status(503), UploadScript.has(1000)],
      patch: [UploadScript.take(503, text: "busy")])
    try await withSource(.data) { source, transport in
      try await script.run { server in
        let (end, _) = try await UploadTry().run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport,
          busyServer: .answers)
        guard case .answered(503, "busy") = end else { return #expect(Bool(false), "\(end)") }
        #expect(server.heads.map(\.method) == ["POST", "HEAD", "HEAD", "PATCH"])
        transport.shutDown()
      }
    }
  }

  /// The file is no longer what the server has the beginning of.
  @Test func aFileThatHasChangedIsNotResumed() async throws {
    try await withSource(.file) { source, transport in
      try await UploadScript(post: [.cutOffered(1000)]).run { server in
        guard case .file(let url) = source.body else { return }
        try Data(count: UploadScript.size).write(to: url)
        let (end, place) = try await UploadTry().run(
          UploadScript.request(server), from: source, to: UploadPlace(version: .preferred), over: transport)
        guard case .failed(.cannotOpenFile) = end else { return #expect(Bool(false), "\(end)") }
        #expect(place.resource == nil)
        transport.shutDown()
      }
    }
  }

  @Test func withoutAStreamForTheRestItEndsAsItWasCut() async throws {
    let script = UploadScript(post: [.cutOffered(1000)], head: [UploadScript.has(1000)])
    try await script.run { server in
      let transport = HTTPTransport(configuration: URLSessionConfiguration.loopback.loadConfiguration.transport)
      let body = RequestBody.stream(SendableInputStream(InputStream(data: UploadScript.body)))
      let (end, place) = try await UploadTry().run(
        UploadScript.request(server), from: UploadSource(body, length: nil), to: UploadPlace(version: .preferred),
        over: transport)
      guard case .failed(.networkConnectionLost) = end else { return #expect(Bool(false), "\(end)") }
      #expect(place.resource != nil && place.acknowledged == 1000)
      transport.shutDown()
    }
  }

  struct Offer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var url = "http://h/"
    var fields: [String: String] = [:]
    let version: UploadVersion?
  }

  static let offers = [
    Offer(testDescription: "any upload over HTTP", version: .preferred),
    Offer(testDescription: "another scheme", url: "ftp://h/", version: nil),
    Offer(testDescription: "a field of the protocol's", fields: ["Upload-Complete": "?1"], version: nil),
    Offer(testDescription: "an offset of the app's", fields: ["Upload-Offset": "1"], version: nil),
    Offer(
      testDescription: "a version of the app's", fields: ["Upload-Draft-Interop-Version": "3"],
      version: UploadVersion("3")),
    Offer(testDescription: "an unknown version", fields: ["Upload-Draft-Interop-Version": "99"], version: nil),
  ]

  @Test(arguments: offers) func offersToResume(_ row: Offer) throws {
    var request = URLRequest(url: try #require(URL(string: row.url)))
    for (name, value) in row.fields { request.setValue(value, forHTTPHeaderField: name) }
    #expect(ResumableUpload<UploadTry>.versionToOffer(in: request) == row.version)
  }

  /// Runs `body` with the pattern as a source of the kind.
  private func withSource(
    _ kind: Source, _ body: (UploadSource, HTTPTransport) async throws -> Void
  ) async throws {
    let transport = HTTPTransport(configuration: URLSessionConfiguration.loopback.loadConfiguration.transport)
    defer { transport.shutDown() }
    let length = Int64(UploadScript.size)
    switch kind {
    case .data: try await body(UploadSource(.data(UploadScript.body), length: length), transport)
    case .stream: try await body(UploadSource(.streamFromClient, length: length), transport)
    case .file:
      let url = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
      try UploadScript.body.write(to: url)
      defer { try? FileManager.default.removeItem(at: url) }
      try await body(UploadSource(.file(url), length: length, identity: FileIdentity(url)), transport)
    }
  }
}

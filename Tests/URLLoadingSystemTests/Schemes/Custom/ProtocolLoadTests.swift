import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Loads by custom protocols, from their calls to what the app gets.
@Suite struct ProtocolLoadTests {
  enum Form: CaseIterable, Sendable {
    case data, dataHandler, dataDelegate, upload, uploadHandler, download, downloadHandler, downloadDelegate, bytes
  }

  /// The chunks come at once, or from another thread while the load goes on.
  @Test(arguments: Form.allCases, [false, true])
  func everyKindOfTaskGetsAllChunks(form: Form, isLate: Bool) async throws {
    let script = ProtocolScript { object in
      let answer: @Sendable () -> Void = {
        object.respond(201, ["Content-Type": "text/plain"])
        for number in 0..<100 { object.load("\(number) ") }
        object.finish()
      }
      if isLate { DispatchQueue.global().async(execute: answer) } else { answer() }
    }
    let delegate = RecordingDelegate()
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    let (text, response) = try await load(try script.url(), form, session, delegate)
    #expect(text == (0..<100).map { "\($0) " }.joined())
    if let response { #expect((response as? HTTPURLResponse)?.statusCode == 201) }
    #expect(try await script.stops.first(1) == ["/"])
  }

  private func load(
    _ url: URL, _ form: Form, _ session: URLSession, _ delegate: RecordingDelegate
  ) async throws -> (String, URLResponse?) {
    var request = URLRequest(url: url)
    request.httpMethod = [.upload, .uploadHandler].contains(form) ? "POST" : "GET"
    let results = Recorder<(Data, URLResponse?)>()
    let handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { data, response, _ in
      results.record((data ?? Data(), response))
    }
    switch form {
    case .data:
      let (data, response) = try await session.data(for: request)
      return (String(decoding: data, as: UTF8.self), response)
    case .upload:
      let (data, response) = try await session.upload(for: request, from: Data("body".utf8))
      return (String(decoding: data, as: UTF8.self), response)
    case .download:
      let (file, response) = try await session.download(for: request)
      defer { try? FileManager.default.removeItem(at: file) }
      return (try String(contentsOf: file, encoding: .utf8), response)
    case .bytes:
      let (bytes, response) = try await session.bytes(for: request)
      let data = try await bytes.reduce(into: Data()) { $0.append($1) }
      return (String(decoding: data, as: UTF8.self), response)
    case .dataHandler: session.dataTask(with: request, completionHandler: handler).resume()
    case .uploadHandler:
      session.uploadTask(with: request, from: Data("body".utf8), completionHandler: handler).resume()
    case .downloadHandler:
      session.downloadTask(with: request) { file, response, _ in
        results.record((file.flatMap { try? Data(contentsOf: $0) } ?? Data(), response))
      }.resume()
    case .dataDelegate:
      session.dataTask(with: request).resume()
      try await delegate.done.wait(within: patience)
      return (String(decoding: delegate.received.withLock { $0 }, as: UTF8.self), nil)
    case .downloadDelegate:
      delegate.onFile = { results.record(((try? Data(contentsOf: $0)) ?? Data(), nil)) }
      session.downloadTask(with: request).resume()
    }
    let (data, response) = try await results.next()
    return (String(decoding: data, as: UTF8.self), response)
  }

  @Test func aSchemeOfTheAppsOwnIsLoaded() async throws {
    let script = ProtocolScript { $0.answer($0.request.url?.scheme ?? "") }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: try script.url(scheme: "myapp"))
    #expect(String(decoding: data, as: UTF8.self) == "myapp")
    #expect(response.url == (try script.url(scheme: "myapp")))
  }

  /// What the app's own requests are held to is not what a protocol is held to.
  @Test func stagesOfTheBuiltInLoadersHaveNoPart() async throws {
    let script = ProtocolScript { object in
      object.respond(200, ["Content-Encoding": "gzip", "Set-Cookie": "a=1", "Content-Type": "text/plain"])
      object.load(object.request.allHTTPHeaderFields.map { "\($0.keys.sorted())" } ?? "no fields")
      object.finish()
    }
    let session = script.session { $0.appTransportSecurity = AppTransportSecurity() }
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(from: try script.url())
    #expect(String(decoding: data, as: UTF8.self) == "no fields")
    #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
    #expect(session.configuration.httpCookieStorage?.cookies?.isEmpty == true)
  }

  @Test func aStatusIsNothingThatTheSystemActsUpon() async throws {
    let script = ProtocolScript { object in
      object.respond(Int(object.request.url?.lastPathComponent ?? "") ?? 0, ["Location": "/next"])
      object.load("body")
      object.finish()
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    for status in [302, 304, 401, 407, 503] {
      let (data, response) = try await session.data(from: try script.url("/\(status)"))
      #expect((response as? HTTPURLResponse)?.statusCode == status)
      #expect(String(decoding: data, as: UTF8.self) == "body")
    }
  }

  // MARK: Out of turn

  static let misuses: [(name: String, text: String?, steps: ProtocolScript.Step)] = [
    (
      "two ends", "a",
      { object in
        object.answer("a")
        object.finish()
        object.fail(URLError(.badURL))
      }
    ),
    (
      "data before the response", "ab",
      { object in
        object.load("a")
        object.respond()
        object.load("b")
        object.finish()
      }
    ),
    ("an end without a response", "", { $0.finish() }),
    (
      "two responses", "a",
      { object in
        object.respond()
        object.respond(500)
        object.load("a")
        object.finish()
      }
    ),
    (
      "a response after a failure", nil,
      { object in
        object.fail(URLError(.dnsLookupFailed))
        object.answer("a")
      }
    ),
  ]

  @Test(arguments: misuses.indices) func callsOutOfTurnDoNoHarm(index: Int) async throws {
    let row = ProtocolLoadTests.misuses[index]
    let script = ProtocolScript(row.steps)
    let session = script.session()
    defer { session.invalidateAndCancel() }
    do {
      let (data, _) = try await session.data(from: try script.url())
      #expect(String(decoding: data, as: UTF8.self) == row.text, "\(row.name)")
    } catch { #expect(row.text == nil && (error as? URLError)?.code == .dnsLookupFailed, "\(row.name)") }
    #expect(try await script.stops.first(1) == ["/"])
  }

  // MARK: Errors

  private enum OwnError: Error, Equatable { case reason(Int) }

  @Test(arguments: [false, true]) func anErrorReachesTheAppAsItIs(isLate: Bool) async throws {
    let script = ProtocolScript { object in
      if isLate { object.respond() }
      switch object.request.url?.path {
      case "/own": object.fail(OwnError.reason(3))
      case "/domain": object.fail(NSError(domain: "app", code: 7, userInfo: ["key": "value"]))
      case "/url": object.fail(URLError(.timedOut))
      default: object.fail(NSError(domain: NSURLErrorDomain, code: NSURLErrorCannotConnectToHost))
      }
    }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    #expect(await error(of: try script.url("/own"), session) as? OwnError == .reason(3))
    let own = try #require(await error(of: try script.url("/domain"), session)) as NSError
    #expect(own.domain == "app")
    #expect(own.code == 7)
    #expect(own.userInfo["key"] as? String == "value")
    for (path, code) in [("/url", URLError.Code.timedOut), ("/foundation", .cannotConnectToHost)] {
      let url = try script.url(path)
      let failed = try #require(await error(of: url, session) as? URLError)
      #expect(failed.code == code)
      #expect(failed.failingURL == url)
    }
    let (errors, url) = (Recorder<String>(), try script.url("/domain"))
    let task = session.dataTask(with: url) { _, _, error in errors.record((error as NSError?)?.domain ?? "none") }
    task.resume()
    #expect(try await errors.next() == "app")
    #expect((task.error as NSError?)?.domain == "app")
  }

  private func error(of url: URL, _ session: URLSession) async -> (any Error)? {
    do {
      _ = try await session.data(from: url)
      return nil
    } catch { return error }
  }

  @Test func aProtocolThatNeverAnswersTimesOutAndIsStopped() async throws {
    let script = ProtocolScript { _ in }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let request = URLRequest(url: try script.url("/silent"), timeoutInterval: 0.2)
    #expect(await failure { _ = try await session.data(for: request) } == .timedOut)
    #expect(try await script.stops.first(1) == ["/silent"])
  }

  // MARK: Bodies of requests

  @Test func theBodyIsInAStream() async throws {
    let script = ProtocolScript { $0.answer("\($0.request.httpBody == nil) \($0.body)") }
    let delegate = RecordingDelegate()
    delegate.stream = { InputStream(data: Data("streamed".utf8)) }
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: try script.url())
    request.httpMethod = "POST"
    var texts: [String] = []
    for body in [Data("data".utf8), nil] {
      request.httpBody = body
      let (data, _) = try await session.data(for: request)
      texts.append(String(decoding: data, as: UTF8.self))
    }
    let (uploaded, _) = try await session.upload(for: request, from: Data("uploaded".utf8))
    texts.append(String(decoding: uploaded, as: UTF8.self))
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("in a file".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let (fromFile, _) = try await session.upload(for: request, fromFile: file)
    texts.append(String(decoding: fromFile, as: UTF8.self))
    request.httpBodyStream = InputStream(data: Data("own stream".utf8))
    let (own, _) = try await session.data(for: request)
    texts.append(String(decoding: own, as: UTF8.self))
    session.uploadTask(withStreamedRequest: request).resume()
    try await delegate.done.wait(within: patience)
    texts.append(String(decoding: delegate.received.withLock { $0 }, as: UTF8.self))
    #expect(
      texts == [
        "true data", "true no stream", "true uploaded", "true in a file", "true own stream", "true streamed",
      ])
    // No field of a resumable upload is added.
    #expect(script.requests.all.allSatisfy { $0.allHTTPHeaderFields == nil })
  }

  /// As without a protocol: opening one of these could wait without end.
  @Test(arguments: ["pipe", "/dev/zero", "/tmp"]) func aBodyThatIsNoFileIsAnError(_ name: String) async throws {
    let script = ProtocolScript { $0.answer($0.body) }
    let session = script.session()
    defer { session.invalidateAndCancel() }
    var file = URL(fileURLWithPath: name)
    if name == "pipe" {
      file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      try #require(mkfifo(file.path, 0o600) == 0)
    }
    defer { if name == "pipe" { try? FileManager.default.removeItem(at: file) } }
    var request = URLRequest(url: try script.url())
    request.httpMethod = "POST"
    let upload = request
    let code = await failure { _ = try await session.upload(for: upload, fromFile: file) }
    #expect(code == (name == "/tmp" ? .fileIsDirectory : .cannotOpenFile))
    #expect(script.requests.all.isEmpty)
  }

  // MARK: What the task says

  @Test func theTaskCountsAndShowsWhatCame() async throws {
    let script = ProtocolScript { object in
      object.respond(200, ["Content-Length": "6"])
      object.load("abc")
      object.load("def")
      object.finish()
    }
    let done = Gate()
    let session = script.session()
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try script.url()) { _, _, _ in done.open() }
    let progress = task.progress
    task.resume()
    try await done.wait(within: patience)
    #expect(task.countOfBytesReceived == 6)
    #expect(task.countOfBytesExpectedToReceive == 6)
    #expect(task.countOfBytesSent == 0)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    #expect(task.currentRequest?.url == (try script.url()))
    #expect(task.state == .completed)
    try await eventually("the progress") { progress.isFinished }
  }

  @Test func metricsHaveATransactionOfUnknownOriginForEachHop() async throws {
    let script = ProtocolScript { object in
      if object.request.url?.path == "/" { object.redirect(to: "/next") } else { object.answer("abc") }
    }
    let delegate = RecordingDelegate()
    let session = script.session(delegate)
    defer { session.invalidateAndCancel() }
    session.dataTask(with: try script.url()).resume()
    let metrics = try await delegate.metrics.next()
    #expect(metrics.redirectCount == 1)
    #expect(metrics.transactionMetrics.map { $0.request.url?.path } == ["/", "/next"])
    #expect(metrics.transactionMetrics.allSatisfy { $0.resourceFetchType == .unknown })
    #expect(metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 200])
    #expect(metrics.transactionMetrics.allSatisfy { $0.fetchStartDate != nil && $0.responseEndDate != nil })
  }
}

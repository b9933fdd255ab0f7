import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// Connections that report to a delegate, on run loops of threads of the test's own and on queues.
@Suite struct NSURLConnectionTests {
  @available(*, deprecated)
  @Test func itReportsInOrderOnTheRunLoopThatMadeIt() async throws {
    try await withConnections({ _ in .ok("hello") }) { server, sessions in
      let log = ConnectionRecorder()
      let url = server.url("/a")
      let requests = Recorder<URLRequest>()
      log.onEvent = { connection, event in
        if event == "response" { requests.record(connection.currentRequest) }
      }
      try await onRunLoop(log) {
        let connection = NSURLConnection(
          request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
        #expect(connection?.originalRequest.url == url && connection?.currentRequest.url == url)
      }
      #expect(log.summary == ["send 0", "response", "data", "finished"])
      #expect(log.strays.all.isEmpty)
      #expect(log.text == "hello")
      #expect(requests.all.first?.url == url)
    }
  }

  /// Over the stores of the app, with the initialisers that apps call.
  @available(*, deprecated)
  @Test func bothInitialisersStart() async throws {
    let url = try textURL("x")
    for startImmediately in [true, nil] {
      let log = ConnectionRecorder()
      try await onRunLoop(log) {
        let request = URLRequest(url: url)
        if let startImmediately {
          _ = NSURLConnection(request: request, delegate: log, startImmediately: startImmediately)
        } else {
          _ = NSURLConnection(request: request, delegate: log)
        }
      }
      #expect(log.summary == ["send 0", "response", "data", "finished"] && log.strays.all.isEmpty)
    }
  }

  @available(*, deprecated)
  @Test func itWaitsForItsStartAndThenForTheModeThatItIsScheduledIn() async throws {
    let log = ConnectionRecorder()
    let request = URLRequest(url: try textURL("x"))
    let mode = RunLoop.Mode("org.example.own")
    try await onRunLoop(log, mode: mode) {
      let connection = NSURLConnection(request: request, delegate: log, startImmediately: false)
      // Nothing is scheduled yet.
      #expect(RunLoop.current.run(mode: .default, before: .distantFuture) == false)
      connection?.schedule(in: .current, forMode: mode)
      connection?.start()
      // And nothing in this mode, either.
      #expect(RunLoop.current.run(mode: .default, before: .distantFuture) == false)
      #expect(log.events.all.isEmpty)
    }
    #expect(log.summary == ["send 0", "response", "data", "finished"] && log.strays.all.isEmpty)
  }

  /// Calls wait while the connection is scheduled nowhere, and come on the run loop that it is scheduled on next.
  @available(*, deprecated)
  @Test func itMovesToAnotherRunLoop() async throws {
    let log = ConnectionRecorder()
    let request = URLRequest(url: try textURL("x"))
    let made = Mutex<NSURLConnection?>(nil)
    let isMade = Gate()
    Thread.detachNewThread {
      let connection = NSURLConnection(request: request, delegate: log, startImmediately: false)
      connection?.schedule(in: .current, forMode: .default)
      connection?.start()
      connection?.unschedule(from: .current, forMode: .default)
      #expect(RunLoop.current.run(mode: .default, before: .distantFuture) == false)
      made.withLock { $0 = connection }
      isMade.open()
    }
    try await isMade.wait(within: patience)
    try await onRunLoop(log) { made.withLock { $0 }?.schedule(in: .current, forMode: .default) }
    #expect(log.summary == ["send 0", "response", "data", "finished"] && log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test(arguments: [1, 4]) func aQueueTakesTheCallsInOrder(_ width: Int) async throws {
    let log = ConnectionRecorder()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    log.expect(queue)
    let connection = NSURLConnection(
      request: URLRequest(url: try textURL("x")), delegate: log, startImmediately: false)
    connection?.setDelegateQueue(queue)
    connection?.start()
    // Too late to count.
    connection?.setDelegateQueue(nil)
    connection?.start()
    try await log.done.wait(within: patience)
    #expect(log.summary == ["send 0", "response", "data", "finished"] && log.strays.all.isEmpty)
  }

  @available(*, deprecated)
  @Test func aFailureIsTheLastMessage() async throws {
    let log = ConnectionRecorder()
    let url = try #require(URL(string: "gopher://host/x"))
    try await onRunLoop(log) { _ = NSURLConnection(request: URLRequest(url: url), delegate: log) }
    #expect(log.summary == ["send 0", "failed -1002"])
    #expect(log.errors.all.first?.failingURL == url)
  }

  @available(*, deprecated)
  @Test func eachPartIsAResponse() async throws {
    let parts = ["--x\r\nX-N: 1\r\n\r\nfirst\r\n", "--x\r\nX-N: 2\r\n\r\nsecond\r\n--x--\r\n"]
    try await withConnections({ _ in
      .chunked(parts, fields: [("Content-Type", "multipart/x-mixed-replace; boundary=x")])
    }) { server, sessions in
      let log = ConnectionRecorder()
      let url = server.url()
      try await onRunLoop(log) {
        _ = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.summary == ["send 0", "response", "data", "response", "data", "finished"])
      #expect(log.text == "firstsecond")
    }
  }

  // MARK: Requests

  @available(*, deprecated)
  @Test func theDelegateChangesTheFirstRequest() async throws {
    try await withConnections({ .ok($0.value("X-Mine") ?? "") }) { server, sessions in
      let log = ConnectionRecorder()
      let url = server.url()
      log.onSend = { _, request, _ in
        var changed = request
        changed.setValue("yes", forHTTPHeaderField: "X-Mine")
        return changed
      }
      try await onRunLoop(log) {
        _ = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.text == "yes")
    }
  }

  @available(*, deprecated)
  @Test func redirectsAreFollowedUnlessTheDelegateRefuses() async throws {
    try await withConnections({
      $0.target == "/old" ? .status(302, fields: [("Location", "/new")], body: "moved") : .ok("new")
    }) { server, sessions in
      let url = server.url("/old")
      for isFollowed in [true, false] {
        let log = ConnectionRecorder()
        let last = Recorder<URL?>()
        log.onSend = { _, request, response in response == nil || isFollowed ? request : nil }
        log.onEvent = { connection, event in
          if event == "finished" { last.record(connection.currentRequest.url) }
        }
        try await onRunLoop(log) {
          _ = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
        }
        #expect(log.summary == ["send 0", "send 302", "response", "data", "finished"])
        #expect(log.text == (isFollowed ? "new" : "moved"))
        #expect(last.all == [isFollowed ? server.url("/new") : url])
      }
    }
  }

  @available(*, deprecated)
  @Test func nilForTheFirstRequestEndsTheConnection() async throws {
    try await withConnections({ _ in .ok("") }) { server, sessions in
      let log = ConnectionRecorder()
      let url = server.url()
      log.onSend = { _, _, _ in nil }
      try await onRunLoop(log) {
        _ = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.summary == ["send 0", "failed -999"])
      #expect(server.requests.isEmpty)
    }
  }

  @available(*, deprecated)
  @Test func whatCanBeLoadedIsToldByTheScheme() throws {
    let schemes = ["http", "https", "HTTP", "http+unix", "ftp", "ftps", "file", "data", "gopher", "mailto"]
    let answers = try schemes.map { scheme in
      NSURLConnection.canHandle(URLRequest(url: try #require(URL(string: "\(scheme):x"))))
    }
    #expect(answers == [true, true, true, true, true, true, true, true, false, false])
  }

  // MARK: The cache

  private static let fresh: HeaderList = [("Cache-Control", "max-age=3600")]

  @available(*, deprecated)
  @Test(arguments: ["as it is", "nothing", "changed"])
  func theDelegateDecidesWhatIsStored(_ answer: String) async throws {
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    try await withConnections({ _ in .ok("new", fields: Self.fresh) }, configure: { $0.urlCache = cache }) {
      server, sessions in
      let log = ConnectionRecorder()
      let request = URLRequest(url: server.url())
      log.onCache = { proposed in
        switch answer {
        case "nothing": nil
        case "changed": CachedURLResponse(response: proposed.response, data: Data("mine".utf8))
        default: proposed
        }
      }
      try await onRunLoop(log) {
        _ = NSURLConnection(request: request, delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.events.all.contains("cache") && log.summary.last == "finished")
      let stored = cache.cachedResponse(for: request).map { String(decoding: $0.data, as: UTF8.self) }
      #expect(stored == ["as it is": "new", "nothing": nil, "changed": "mine"][answer])
    }
  }

  /// As Apple's guide says of requests that may be answered from the cache alone.
  @available(*, deprecated)
  @Test func nothingStoredMakesNoConnection() async throws {
    let cache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0)
    try await withConnections({ _ in .ok("kept", fields: Self.fresh) }, configure: { $0.urlCache = cache }) {
      server, sessions in
      var request = URLRequest(url: server.url(), cachePolicy: .returnCacheDataDontLoad)
      #expect(NSURLConnection(request: request, delegate: nil, startImmediately: false, in: sessions) == nil)
      _ = try await sessions.stored.data(from: server.url())
      let log = ConnectionRecorder()
      request.timeoutInterval = 30
      let offline = request
      try await onRunLoop(log) {
        #expect(NSURLConnection(request: offline, delegate: log, startImmediately: true, in: sessions) != nil)
      }
      #expect(log.text == "kept" && server.requests.count == 1)
    }
  }

  // MARK: Bodies

  @available(*, deprecated)
  @Test func sentBytesAreCounted() async throws {
    try await withConnections({ .ok($0.body.text) }) { server, sessions in
      let log = ConnectionRecorder()
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      request.httpBody = Data("12345".utf8)
      let post = request
      try await onRunLoop(log) {
        _ = NSURLConnection(request: post, delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.events.all.contains("sent 5 of 5"))
      #expect(log.text == "12345")
    }
  }

  private static func stream(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) }) }

  /// Without `connection(_:needNewBodyStream:)` the body is repeated from what was read of the app's stream.
  @available(*, deprecated)
  @Test(arguments: [0, 1, 5, 300_000]) func aBodyStreamIsRepeated(_ count: Int) async throws {
    try await withConnections({
      $0.target == "/old" ? .redirect(to: "/new", status: 307) : .ok("\($0.body.count)")
    }) { server, sessions in
      let log = ConnectionRecorder()
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = "POST"
      request.httpBodyStream = InputStream(data: Self.stream(count))
      let post = request
      try await onRunLoop(log) {
        _ = NSURLConnection(request: post, delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.summary.last == "finished")
      #expect(log.text == "\(count)")
      #expect(server.requests.map(\.body.count) == [Int64(count), Int64(count)])
      #expect(Set(server.requests.map(\.body.digest)).count == 1)
    }
  }

  @available(*, deprecated)
  private final class Streams: ConnectionLog, NSURLConnectionDataDelegate, @unchecked Sendable {
    // Sendable by hand: a constant.
    let hasStream: Bool
    init(_ hasStream: Bool) { self.hasStream = hasStream }

    func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream? {
      note("stream for \(request.url?.path ?? "")")
      return hasStream ? InputStream(data: Data("second".utf8)) : nil
    }
    func connectionDidFinishLoading(_ connection: NSURLConnection) { end("finished") }
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { fail(error) }
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func theDelegateHasAnotherStream(_ hasStream: Bool) async throws {
    try await withConnections({
      $0.target == "/old" ? .redirect(to: "/new", status: 307) : .ok("")
    }) { server, sessions in
      let log = Streams(hasStream)
      var request = URLRequest(url: server.url("/old"))
      request.httpMethod = "POST"
      request.httpBodyStream = InputStream(data: Data("first".utf8))
      let post = request
      try await onRunLoop(log) {
        _ = NSURLConnection(request: post, delegate: log, startImmediately: true, in: sessions)
      }
      #expect(log.events.all == ["stream for /new", hasStream ? "finished" : "failed -1021"])
      #expect(server.requests.map(\.body.text).last == (hasStream ? "second" : "first"))
    }
  }
}

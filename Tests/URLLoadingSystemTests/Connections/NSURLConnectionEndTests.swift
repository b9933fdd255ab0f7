import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// How connections end: what is told after a cancellation, and what is kept until when.
@Suite struct NSURLConnectionEndTests {
  /// When the connection is cancelled.
  enum Moment: CaseIterable, Sendable {
    case beforeStart, rightAfterStart, inFirstRequest, waitingForResponse, inRedirect, inResponse, inData, inCache
  }

  @available(*, deprecated)
  @Test(arguments: Moment.allCases) func aCancelledConnectionTellsNothingMore(_ moment: Moment) async throws {
    try await withConnections(
      {
        switch moment {
        case .inRedirect: $0.target == "/" ? .redirect(to: "/new") : .ok("x")
        case .inCache: .ok("x", fields: [("Cache-Control", "max-age=3600")])
        case .inResponse, .inData: Reply([.head(200, fields: [("Content-Length", "8")]), .body("half"), .stall])
        default: .never
        }
      }, configure: { $0.urlCache = URLCache(memoryCapacity: 100_000, diskCapacity: 0) }
    ) { server, sessions in
      let log = ConnectionRecorder()
      let event: String? =
        switch moment {
        case .inFirstRequest: "send 0"
        case .inRedirect: "send 302"
        case .inResponse: "response"
        case .inData: "data"
        case .inCache: "cache"
        case .beforeStart, .rightAfterStart, .waitingForResponse: nil
        }
      log.onEvent = { connection, seen in
        guard seen == event else { return }
        connection.cancel()
        connection.cancel()
      }
      let url = server.url()
      let made = Mutex<NSURLConnection?>(nil)
      let isOver = Gate()
      Thread.detachNewThread {
        log.expectThisThread()
        let connection = NSURLConnection(
          request: URLRequest(url: url), delegate: log, startImmediately: false, in: sessions)
        made.withLock { $0 = connection }
        if moment == .beforeStart { connection?.cancel() }
        connection?.start()
        if moment == .rightAfterStart { connection?.cancel() }
        // Ends by itself: a cancelled connection is scheduled nowhere.
        while RunLoop.current.run(mode: .default, before: .distantFuture) {}
        isOver.open()
      }
      if moment == .waitingForResponse {
        _ = try await server.nextRequest()
        made.withLock { $0 }?.cancel()
      }
      try await isOver.wait(within: patience)
      #expect(log.strays.all.isEmpty)
      #expect(!log.done.isOpen)
      #expect(log.summary.last == event ?? (moment == .waitingForResponse ? "send 0" : nil))
      made.withLock { $0 }?.start()
      // The task ends although no run loop runs.
      try await eventually("the task to end") { await sessions.stored.allTasks.isEmpty }
    }
  }

  @available(*, deprecated)
  @Test(arguments: ["finished", "failed", "cancelled"])
  func connectionAndDelegateAreKeptUntilTheEndOnly(_ end: String) async throws {
    weak var weakConnection: NSURLConnection?
    weak var weakDelegate: ConnectionRecorder?
    let url = try end == "failed" ? #require(URL(string: "gopher://x/")) : textURL("x")
    let isDone = Gate()
    let lasting = ConnectionLog()
    do {
      let log = ConnectionRecorder()
      weakDelegate = log
      let queue = serialQueue()
      queue.isSuspended = true
      let connection = NSURLConnection(request: URLRequest(url: url), delegate: log, startImmediately: false)
      weakConnection = connection
      connection?.setDelegateQueue(queue)
      log.onEvent = { connection, _ in if end == "cancelled" { connection.cancel() } }
      connection?.start()
      queue.addOperation { lasting.note("queued") }
      queue.isSuspended = false
      // The test holds only the queue from here on.
      if end != "cancelled" { try await log.done.wait(within: patience) }
      isDone.open()
    }
    try await eventually("the delegate to be released") { weakDelegate == nil }
    try await eventually("the connection to be released") { weakConnection == nil }
  }

  @available(*, deprecated)
  @Test func aConnectionThatIsNotHeldGoesOn() async throws {
    try await withConnections({ _ in .ok("x") }) { server, sessions in
      let log = ConnectionRecorder()
      let queue = serialQueue()
      func begin() {
        let connection = NSURLConnection(
          request: URLRequest(url: server.url()), delegate: log, startImmediately: false, in: sessions)
        connection?.setDelegateQueue(queue)
        connection?.start()
      }
      begin()
      try await log.done.wait(within: patience)
      #expect(log.text == "x")
    }
  }

  /// Each runs until its own connection is over, with others in the same run loop.
  @available(*, deprecated)
  @Test func manyConnectionsShareARunLoop() async throws {
    try await withConnections({ .ok($0.target) }) { server, sessions in
      let logs = (0..<20).map { _ in ConnectionRecorder() }
      let url = server.url()
      let isOver = Gate()
      Thread.detachNewThread {
        for (number, log) in logs.enumerated() {
          log.expectThisThread()
          let request = URLRequest(url: url.appendingPathComponent("\(number)"))
          _ = NSURLConnection(request: request, delegate: log, startImmediately: true, in: sessions)
        }
        while RunLoop.current.run(mode: .default, before: .distantFuture) {}
        isOver.open()
      }
      try await isOver.wait(within: patience)
      for (number, log) in logs.enumerated() {
        #expect(log.summary == ["send 0", "response", "data", "finished"] && log.strays.all.isEmpty)
        #expect(log.text == "/\(number)")
      }
    }
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Synchronization
import Testing

@testable import URLLoadingSystem

/// The ends of WebSocket tasks: closed by either side, and cancelled.
extension WebSocketTaskTests {
  @Test func theServersCloseIsAnsweredAndTold() async throws {
    let answer = Recorder<UInt16?>()
    try await withPeer({ peer in
      try await peer.open(
        then: WebSocketPeer.text("a") + WebSocketPeer.text("b") + WebSocketPeer.close(4001, "moved on"))
      answer.record(try await peer.closeCode())
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await delegate.done.wait(within: patience)
      #expect(try await answer.next() == 4001)
      #expect(delegate.events.all == ["open -", "close 4001 moved on", "completed"])
      #expect(task.closeCode.rawValue == 4001)
      #expect(task.closeReason == Data("moved on".utf8))
      // What had arrived is not lost; beyond it the socket is not connected.
      #expect(try await task.receive().text == "a")
      #expect(try await task.receive().text == "b")
      let error = await #expect(throws: POSIXError.self) { _ = try await task.receive() }
      #expect(error?.code == .ENOTCONN)
      await #expect(throws: POSIXError.self) { try await task.send(.string("late")) }
      let told = Recorder<String>()
      task.sendPing { told.record("\(($0 as? URLError)?.code == .networkConnectionLost)") }
      #expect(try await told.next() == "true")
    }
  }

  @Test func anEmptyCloseHasNoStatus() async throws {
    let answer = Recorder<UInt16?>()
    try await withPeer({ peer in
      try await peer.open(then: [0x88, 0x00])
      answer.record(try await peer.closeCode())
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "close 1005 -", "completed"])
      #expect(task.closeCode == .noStatusReceived)
      #expect(task.closeReason == nil)
      #expect(try await answer.next() == 1005)
    }
  }

  /// What was sent before is sent, what is received meanwhile is received, and a code of the app's own survives.
  @Test func closingWithACodeComesBehindTheMessages() async throws {
    let frames = Recorder<WebSocketPeer.Frame>()
    try await withPeer({ peer in
      try await peer.open()
      while let frame = try await peer.frame() {
        frames.record(frame)
        guard frame.first == 0x88 else { continue }
        try await peer.send(WebSocketPeer.text("one more") + WebSocketPeer.frame(0x88, frame.payload))
      }
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await task.send(.string("zero"))
      for text in ["one", "two"] { task.send(.string(text)) { _ in } }
      task.cancel(with: try #require(.init(rawValue: 4321)), reason: Data("enough".utf8))
      await #expect(throws: POSIXError.self) { try await task.send(.string("too late")) }
      try await delegate.done.wait(within: patience)
      #expect(try await frames.first(4).map(\.text) == ["zero", "one", "two", "\u{10}\u{FFFD}enough"])
      #expect(delegate.events.all == ["open -", "close 4321 enough", "completed"])
      #expect(try await task.receive().text == "one more")
    }
  }

  /// A server that does not answer a close frame is left alone after a while.
  @Test func aServerThatNeverCloses() async throws {
    let code = Recorder<UInt16?>()
    try await withPeer({ peer in
      try await peer.open()
      code.record(try await peer.closeCode())
      while try await peer.connection.read() != nil {}
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await task.send(.string("x"))
      task.cancel(with: .goingAway, reason: nil)
      #expect(try await code.next() == 1001)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "completed"])
      #expect(task.closeCode == .goingAway)
    }
  }

  /// The close frame waits behind a message that the server does not read.
  @Test func aServerThatStopsReadingDoesNotKeepATaskThatIsClosed() async throws {
    let over = Gate()
    try await withPeer({ peer in
      try await peer.open(then: WebSocketPeer.text("hello"))
      try await over.wait()
    }) { server in
      defer { over.open() }
      let (session, delegate, task) = openSocket(server.socketURL())
      #expect(try await task.receive().text == "hello")
      let sent = Recorder<Int>()
      task.send(.data(Data(count: 32 << 20))) { sent.record(($0 as? URLError)?.code.rawValue ?? 0) }
      task.cancel(with: .goingAway, reason: nil)
      try await delegate.done.wait(within: patience)
      #expect(try await sent.next() == URLError.cancelled.rawValue)
      #expect(delegate.events.all == ["open -", "failed -999"])
      session.invalidateAndCancel()
    }
  }

  /// What `cancel()` and the session's invalidation do to a task that is being closed.
  @Test func cancellingATaskThatIsBeingClosedEndsIt() throws {
    final class Work: TaskWork {
      let cancelled = Atomic<Int>(0)
      func begin(_ task: URLSessionTask) {}
      func suspensionChanged(of task: URLSessionTask) {}
      func hintsChanged(of task: URLSessionTask) {}
      func cancel(_ task: URLSessionTask) {
        if task.isCancelled { cancelled.add(1, ordering: .relaxed) }
      }
    }
    let session = URLSession(configuration: .ephemeral)
    let task = session.webSocketTask(with: try #require(URL(string: "ws://localhost/")))
    let work = Work()
    task.lockedState.withLock { $0.adopt(work, suspensions: 0) }
    task.cancel(with: .goingAway, reason: nil)
    #expect(task.state == .canceling && !task.isCancelled)
    task.cancel()
    #expect(work.cancelled.load(ordering: .relaxed) == 1)
    task.cancel()
    #expect(work.cancelled.load(ordering: .relaxed) == 1)
    session.forget(task.taskIdentifier)
    session.invalidateAndCancel()
  }

  @Test func cancellingSendsAnEmptyCloseAndFailsTheRest() async throws {
    let code = Recorder<UInt16?>()
    try await withPeer({ peer in
      try await peer.open(then: WebSocketPeer.text("hello"))
      code.record(try await peer.closeCode())
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      #expect(try await task.receive().text == "hello")
      let waiting = Recorder<String>()
      task.receive {
        if case .failure(let error) = $0 { waiting.record("\((error as? URLError)?.code.rawValue ?? 0)") }
      }
      task.cancel()
      #expect(try await waiting.next() == "-999")
      #expect(try await code.next() == 1005)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["open -", "failed -999"])
      let error = await #expect(throws: URLError.self) { try await task.send(.string("late")) }
      #expect(error?.code == .cancelled)
    }
  }

  @Test func cancellingBeforeAndDuringTheHandshake() async throws {
    let began = Gate()
    try await withPeer({ peer in
      began.open()
      while try await peer.connection.read() != nil {}
    }) { server in
      let (session, delegate, task) = openSocket(server.socketURL())
      defer { session.invalidateAndCancel() }
      try await began.wait(within: patience)
      task.cancel(with: .goingAway, reason: nil)
      let error = await #expect(throws: URLError.self) { _ = try await task.receive() }
      #expect(error?.code == .cancelled)
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["failed -999"])

      let unstarted = session.webSocketTask(with: server.socketURL())
      let told = Recorder<String>()
      unstarted.receive { told.record("\((try? $0.get()) == nil)") }
      unstarted.cancel()
      #expect(try await told.next() == "true")
    }
  }
}

import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct AsyncBytesTests {
  @Test(.overHTTP1To3) func returnsAtTheHeadAndIsPulled() async throws {
    let go = Gate()
    let reply = Reply([
      .head(200, fields: [("Content-Length", "6")]), .body("abc"), .waitFor(go), .body("def"),
    ])
    try await withServer({ _ in reply }) { server in
      let delegate = RecordingDelegate()
      let session = URLSession.recording(delegate)
      let (bytes, response) = try await session.bytes(from: server.url())
      #expect(response.expectedContentLength == 6)
      var text = ""
      for try await byte in bytes {
        text.unicodeScalars.append(UnicodeScalar(byte))
        if text == "abc" { go.open() }
      }
      #expect(text == "abcdef")
      #expect(delegate.summary == ["created", "metrics"])
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func droppingTheIteratorCancels() async throws {
    try await withServer({ _ in .pattern(BytePattern(), count: 1 << 40) }) { server in
      let session = URLSession(configuration: .loopback)
      var task: URLSessionDataTask?
      do {
        let (bytes, _) = try await session.bytes(from: server.url())
        task = bytes.task
        for try await _ in bytes { break }
      }
      try await eventually("the task to end") { task?.state == .completed }
      #expect((task?.error as? URLError)?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }

  /// The sequence, and with it the task, may be kept for longer than its bytes are wanted.
  @Test(.overHTTP1To3) func leavingTheLoopCancelsThoughTheSequenceIsKept() async throws {
    try await withServer({ _ in .pattern(BytePattern(), count: 1 << 40) }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      for try await _ in bytes { break }
      try await eventually("the task to end") { bytes.task.state == .completed }
      #expect((bytes.task.error as? URLError)?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }

  /// A copy goes on where it was copied.
  @Test(.overHTTP1To3) func aCopyOfTheIteratorKeepsTheTransfer() async throws {
    try await withServer({ _ in .ok("abc") }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var copy: URLSession.AsyncBytes.Iterator
      do {
        var first = bytes.makeAsyncIterator()
        let byte = try await first.next()
        #expect(byte == UInt8(ascii: "a"))
        copy = first
      }
      var rest: [UInt8] = []
      while let byte = try await copy.next() { rest.append(byte) }
      #expect(rest == Array("bc".utf8))
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func notPullingHoldsTheTransferBack() async throws {
    try await withServer({ _ in .pattern(BytePattern(), count: 1 << 30) }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var last: Int64 = -1
      try await eventually("the transfer to stop", every: .milliseconds(100)) {
        defer { last = bytes.task.countOfBytesReceived }
        return bytes.task.countOfBytesReceived == last
      }
      #expect(bytes.task.countOfBytesReceived < 8 << 20)
      session.invalidateAndCancel()
    }
  }

  @Test(.overHTTP1To3) func anErrorComesAfterTheBytesBeforeIt() async throws {
    try await withServer({ _ in .truncated(declared: 100, sent: 10) }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var count = 0
      let error = await #expect(throws: URLError.self) { for try await _ in bytes { count += 1 } }
      #expect(error?.code == .networkConnectionLost)
      #expect(count == 10)
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func cancellingTheSwiftTaskEndsTheIteration() async throws {
    try await withServer({ _ in Reply([.head(200, fields: [("Content-Length", "9")]), .body("abc"), .stall]) }) {
      server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      let third = Gate()
      let reader = Task {
        var count = 0
        for try await _ in bytes {
          count += 1
          if count == 3 { third.open() }
        }
      }
      try await third.wait(within: patience)
      reader.cancel()
      let error = await #expect(throws: URLError.self) { try await reader.value }
      #expect(error?.code == .cancelled)
      session.finishTasksAndInvalidate()
    }
  }

  @Test(.overHTTP1To3) func wholeBodiesArrive() async throws {
    let count: Int64 = 3_000_000
    try await withServer({ _ in .chunked(BytePattern(), count: count, each: 4_097) }) { server in
      let session = URLSession(configuration: .loopback)
      let (bytes, _) = try await session.bytes(from: server.url())
      var data = Data()
      for try await byte in bytes { data.append(byte) }
      #expect(digest(data) == BytePattern().digest(count: count))
      session.finishTasksAndInvalidate()
    }
  }

  @Test func urlsHaveBytesAndLines() async throws {
    let url = try textURL("one\ntwo\n")
    #expect(try await url.resourceBytes.reduce(0) { count, _ in count + 1 } == 8)
    #expect(try await url.lines.reduce(into: []) { $0.append($1) } == ["one", "two"])
  }
}

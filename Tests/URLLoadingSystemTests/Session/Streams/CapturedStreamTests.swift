import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Streams captured from a task: real `InputStream` and `OutputStream` objects.
@Suite struct CapturedStreamTests {
  /// Blocking calls belong on a thread of their own.
  private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { done in Thread { done.resume(returning: work()) }.start() }
  }

  private func readAll(_ input: InputStream) -> Data {
    var all = Data()
    var piece = [UInt8](repeating: 0, count: 1000)
    while true {
      let count = input.read(&piece, maxLength: piece.count)
      guard count > 0 else { return all }
      all.append(contentsOf: piece[..<count])
    }
  }

  @Test func carryEverythingBothWays() async throws {
    let size = 3_000_000
    try await withRawServer({ connection in
      try await connection.write("hello\nrest")
      var count = 0
      while let bytes = try await connection.read() { count += bytes.readableBytes }
      try await connection.write("\n\(count)")
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      #expect(try await task.readLine() == "hello")
      task.captureStreams()
      let streams = try await delegate.streams.next()
      #expect(streams.input.streamStatus == .notOpen)
      #expect(streams.output.streamStatus == .notOpen)
      // The task is over, and says nothing more.
      let late = await #expect(throws: POSIXError.self) { try await task.write(Data([1]), timeout: 0) }
      #expect(late?.code == .ENOTCONN)
      session.finishTasksAndInvalidate()
      try await delegate.invalid.wait(within: patience)
      #expect(task.state == .completed)
      #expect(delegate.events.all == ["streams"])

      let received = await onThread {
        streams.input.open()
        streams.output.open()
        let bytes = [UInt8](repeating: 7, count: size)
        var sent = 0
        while sent < size {
          let count = bytes[sent...].withContiguousStorageIfAvailable {
            $0.baseAddress.map { streams.output.write($0, maxLength: size - sent) } ?? -1
          }
          guard let count, count > 0 else { break }
          sent += count
        }
        streams.output.close()
        return readAll(streams.input)
      }
      #expect(String(decoding: received, as: UTF8.self) == "rest\n\(size)")
      #expect(streams.input.streamStatus == .atEnd)
      #expect(streams.output.streamStatus == .closed)
      streams.input.close()
    }
  }

  /// Scheduled in a run loop, they tell their delegate what happens.
  @Test func tellARunLoop() async throws {
    try await withRawServer({ connection in
      guard let line = try await connection.readLine() else { return }
      try await connection.write("echo \(line)")
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      task.captureStreams()
      let streams = try await delegate.streams.next()
      let heard = await onThread { () -> String in
        let listener = Listener()
        streams.input.delegate = listener
        streams.output.delegate = listener
        streams.input.schedule(in: .current, forMode: .default)
        streams.output.schedule(in: .current, forMode: .default)
        streams.input.open()
        streams.output.open()
        let deadline = Date().addingTimeInterval(30)
        while !listener.hasEnded, Date() < deadline {
          _ = RunLoop.current.run(mode: .default, before: Date().addingTimeInterval(1))
        }
        streams.input.close()
        streams.output.close()
        return listener.text + (listener.opened == 2 ? "" : " opened \(listener.opened)")
      }
      #expect(heard == "echo hi")
    }
  }

  private final class Listener: NSObject, StreamDelegate {
    var text = ""
    var opened = 0
    var hasEnded = false
    private var hasWritten = false

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
      switch eventCode {
      case .openCompleted: opened += 1
      case .hasSpaceAvailable:
        guard !hasWritten, let output = aStream as? OutputStream else { return }
        hasWritten = true
        _ = output.write(Array("hi\n".utf8), maxLength: 3)
      case .hasBytesAvailable:
        guard let input = aStream as? InputStream else { return }
        var piece = [UInt8](repeating: 0, count: 100)
        let count = input.read(&piece, maxLength: piece.count)
        if count > 0 { text += String(decoding: piece[..<count], as: UTF8.self) }
      case .endEncountered, .errorOccurred: hasEnded = true
      default: break
      }
    }
  }

  /// Dropping the streams closes the connection, also one on which the server says nothing.
  @Test func droppingThemClosesTheConnection() async throws {
    let ended = Gate()
    try await withRawServer({ connection in
      _ = try await connection.readToEnd()
      ended.open()
    }) { server in
      let delegate = SilentDelegate()
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
      task.captureStreams()
      task.resume()
      try await ended.wait(within: patience)
      session.finishTasksAndInvalidate()
    }
  }

  private final class SilentDelegate: NSObject, URLSessionStreamDelegate {}

  @Test func aLostConnectionIsAnErrorOfTheStream() async throws {
    let gate = Gate()
    try await withRawServer(
      halfClosed: false,
      { connection in
        try await connection.write("x")
        try await gate.wait()
        connection.reset()
      }
    ) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      task.captureStreams()
      let streams = try await delegate.streams.next()
      let outcome = await onThread { () -> String in
        streams.input.open()
        var byte: UInt8 = 0
        guard streams.input.read(&byte, maxLength: 1) == 1 else { return "nothing" }
        gate.open()
        let count = streams.input.read(&byte, maxLength: 1)
        let code = (streams.input.streamError as? URLError)?.code.rawValue ?? 0
        return "\(count) \(code) \(streams.input.streamStatus == .error)"
      }
      #expect(outcome == "-1 -1005 true")
    }
  }
}

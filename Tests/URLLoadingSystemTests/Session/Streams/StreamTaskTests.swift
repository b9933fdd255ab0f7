import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

@Suite struct StreamTaskTests {
  @Test func readsAndWritesInOrder() async throws {
    try await withRawServer({ connection in
      while let line = try await connection.readLine() { try await connection.write("\(line.uppercased())\n") }
    }) { server in
      let queue = serialQueue()
      let delegate = StreamTaskDelegate()
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
      defer { session.invalidateAndCancel() }
      let task = session.streamTask(withHostName: "localhost", port: server.port)
      let heard = Recorder<String>()
      // Asked for before the task runs; each read takes exactly its bytes.
      for count in [4, 2, 3] {
        task.readData(ofMinLength: count, maxLength: count, timeout: 0) { data, atEnd, error in
          let place = OperationQueue.current === queue ? "" : " astray"
          heard.record(String(decoding: data ?? Data(), as: UTF8.self) + (atEnd || error != nil ? "?" : "") + place)
        }
      }
      for text in ["abc", "\nx", "\nyz\n"] {
        task.write(Data(text.utf8), timeout: 10) { if $0 != nil { heard.record("!") } }
      }
      task.resume()
      let all = try await heard.first(3)
      #expect(all == ["ABC\n", "X\n", "YZ\n"])
      #expect(task.countOfBytesSent == 9)
      #expect(task.countOfBytesReceived == 9)
      #expect(task.originalRequest == nil)
      task.cancel()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["failed -999"])
    }
  }

  @Test func aReadTakesBetweenItsBounds() async throws {
    let gate = Gate()
    try await withRawServer({ connection in
      try await connection.write("0123456789")
      try await gate.wait()
      try await connection.write("ab")
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      let first = try await task.readData(ofMinLength: 10, maxLength: 10, timeout: 30)
      #expect(first.0 == Data("0123456789".utf8) && !first.1)
      gate.open()
      // Fewer than the least come only at the end.
      let second = try await task.readData(ofMinLength: 3, maxLength: 100, timeout: 30)
      #expect(second.0 == Data("ab".utf8) && second.1)
      let third = try await task.readData(ofMinLength: 1, maxLength: 100, timeout: 30)
      #expect(third.0 == nil && third.1)
      let error = await #expect(throws: POSIXError.self) {
        _ = try await task.readData(ofMinLength: 0, maxLength: 0, timeout: 0)
      }
      #expect(error?.code == .EINVAL)
      task.closeWrite()
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["read closed", "write closed", "completed"])
      let late = await #expect(throws: POSIXError.self) { try await task.write(Data([1]), timeout: 0) }
      #expect(late?.code == .ENOTCONN)
    }
  }

  /// The client closes first and still reads; the server closes first and still reads.
  @Test(arguments: [true, false]) func halfClosing(_ clientFirst: Bool) async throws {
    let heard = Recorder<String>()
    try await withRawServer({ connection in
      if clientFirst {
        heard.record(try await connection.readToEnd())
        try await connection.write("answer")
      } else {
        try await connection.write("question")
        try await connection.finishWriting()
        heard.record(try await connection.readToEnd())
      }
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      if clientFirst {
        task.write(Data("question".utf8), timeout: 0) { _ in }
        task.closeWrite()
        let (data, _) = try await task.readData(ofMinLength: 6, maxLength: 100, timeout: 30)
        #expect(data == Data("answer".utf8))
        let (rest, atEnd) = try await task.readData(ofMinLength: 1, maxLength: 100, timeout: 30)
        #expect(rest == nil && atEnd)
        #expect(try await heard.next() == "question")
      } else {
        let (data, atEnd) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 30)
        #expect(data == Data("question".utf8) && atEnd)
        try await task.write(Data("answer".utf8), timeout: 30)
        task.closeWrite()
        #expect(try await heard.next() == "answer")
      }
      try await delegate.done.wait(within: patience)
      #expect(Set(delegate.events.all) == ["read closed", "write closed", "completed"])
      #expect(delegate.events.all.last == "completed")
    }
  }

  @Test func closingTheReadingSide() async throws {
    let heard = Recorder<String>()
    try await withRawServer({ connection in
      try await connection.write("unwanted")
      heard.record(try await connection.readToEnd())
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      _ = try await task.readData(ofMinLength: 2, maxLength: 2, timeout: 30)
      task.closeRead()
      let error = await #expect(throws: POSIXError.self) {
        _ = try await task.readData(ofMinLength: 1, maxLength: 9, timeout: 30)
      }
      #expect(error?.code == .ENOTCONN)
      try await task.write(Data("still here".utf8), timeout: 30)
      task.closeWrite()
      let broken = await #expect(throws: POSIXError.self) { try await task.write(Data("x".utf8), timeout: 30) }
      #expect(broken?.code == .EPIPE || broken?.code == .ENOTCONN)
      #expect(try await heard.next() == "still here")
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all == ["read closed", "write closed", "completed"])
    }
  }

  /// Told without anybody reading.
  @Test func theServersEndIsToldUnasked() async throws {
    try await withRawServer({ try await $0.write("last words") }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      #expect(try await delegate.events.next() == "read closed")
      let (data, atEnd) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 30)
      #expect(data == Data("last words".utf8) && atEnd)
    }
  }

  /// Not with the end of what the server sends, which has said nothing of one.
  @Test func aReadThatWaitsFailsWhenTheTaskIsCancelled() async throws {
    try await withRawServer({ _ = try await $0.readToEnd() }) { server in
      let (session, _, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      let heard = Recorder<URLError.Code?>()
      task.readData(ofMinLength: 1, maxLength: 9, timeout: 0) { _, _, error in heard.record((error as? URLError)?.code)
      }
      // The read has begun when this is over.
      try await task.write(Data("x".utf8), timeout: 0)
      task.cancel()
      let code = try await heard.next()
      #expect(code == .cancelled)
    }
  }

  @Test func timeoutsFailTheRestOfTheirSide() async throws {
    try await withRawServer({ connection in
      while let line = try await connection.readLine() { if line == "go" { try await connection.write("late") } }
    }) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      let heard = Recorder<Int>()
      for timeout in [0.2, 0] {
        task.readData(ofMinLength: 1, maxLength: 9, timeout: timeout) { _, _, error in
          heard.record((error as? URLError)?.code.rawValue ?? 0)
        }
      }
      #expect(try await heard.first(2) == [-1001, -1001])
      let error = await #expect(throws: URLError.self) {
        _ = try await task.readData(ofMinLength: 1, maxLength: 9, timeout: 0)
      }
      #expect(error?.code == .timedOut)
      // The other side goes on.
      try await task.write(Data("go\n".utf8), timeout: 30)
      #expect(task.state == .running)
      task.cancel()
      try await delegate.done.wait(within: patience)
    }
  }

  @Test func aWriteThatNobodyTakesTimesOut() async throws {
    let gate = Gate()
    try await withRawServer({ _ in try await gate.wait() }) { server in
      let (session, _, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      let error = await #expect(throws: URLError.self) { try await task.write(Data(count: 64 << 20), timeout: 0.3) }
      #expect(error?.code == .timedOut)
      await #expect(throws: URLError.self) { try await task.write(Data([1]), timeout: 0) }
      gate.open()
    }
  }

  @Test func aLostConnectionFailsEverything() async throws {
    try await withRawServer(
      halfClosed: false,
      { connection in
        _ = try await connection.read()
        connection.reset()
      }
    ) { server in
      let (session, delegate, task) = openStream(to: server)
      defer { session.invalidateAndCancel() }
      let heard = Recorder<Int>()
      for _ in 0..<2 {
        task.readData(ofMinLength: 1, maxLength: 9, timeout: 0) { _, _, error in
          heard.record((error as? URLError)?.code.rawValue ?? 0)
        }
      }
      task.write(Data("x".utf8), timeout: 0) { _ in }
      #expect(try await heard.first(2) == [-1005, -1005])
      try await delegate.done.wait(within: patience)
      #expect(delegate.events.all.last == "failed -1005")
    }
  }

  @Test func whatCannotBeConnectedTo() async throws {
    let server = try await LoopbackServer.startRaw { _ in }
    await server.shutdown()
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let cases: [(String, Int, URLError.Code)] = [
      ("127.0.0.1", server.port, .cannotConnectToHost), ("127.0.0.1", 0, .badURL), ("127.0.0.1", 70_000, .badURL),
      ("", 80, .badURL), ("no.such.host.invalid", 80, .cannotFindHost),
    ]
    for (host, port, code) in cases {
      let task = session.streamTask(withHostName: host, port: port)
      task.resume()
      let error = await #expect(throws: URLError.self) { try await task.write(Data([1]), timeout: 0) }
      // Where there is no network at all, a name can't be found for that reason.
      #expect(error?.code == code || (code == .cannotFindHost && error?.code == .notConnectedToInternet))
    }
  }

  @Test func tasksAreListedAndHoldTheirSession() async throws {
    try await withRawServer({ _ = try await $0.readToEnd() }) { server in
      let (session, delegate, task) = openStream(to: server)
      try await task.write(Data("x".utf8), timeout: 0)
      let all = await session.allTasks
      #expect(all == [task])
      let (data, uploads, downloads) = await session.tasks
      #expect(data.isEmpty && uploads.isEmpty && downloads.isEmpty)
      session.finishTasksAndInvalidate()
      #expect(!delegate.invalid.isOpen)
      session.invalidateAndCancel()
      task.cancel()
      try await delegate.invalid.wait(within: patience)
    }
  }
}

import Dispatch
import HTTPSemantics
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

/// Connections of HTTP/1.1 against servers of which every byte is scripted.
@Suite struct HTTP1ConnectionTests {
  private func key(_ server: LoopbackServer) -> ConnectionKey {
    ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
  }

  /// The connection closes after it was leased: no byte of the request was sent, so that even a POST may be sent again.
  @Test func aConnectionThatClosesBeforeTheRequestHasNotProcessedIt() async throws {
    let mayClose = Gate()
    let server = try await LoopbackServer.startRaw { connection in
      guard try await connection.readRequestHead() != nil else { return }
      try await connection.answer("first")
      try await mayClose.wait()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      _ = try await loop.load(key)
      let exchange = try await loop.exchange(key)
      defer { exchange.end() }
      mayClose.open()
      let end = ContinuousClock.now + patience
      while (exchange as? HTTP1Exchange)?.isOnOpenConnection == true, ContinuousClock.now < end {
        await loop.executor.turn()
      }
      let error = #expect(throws: TransportError.self) {
        try exchange.send(head: .of(key, "POST"), body: .length(4))
      }
      guard case .notProcessed(_, .leaving(hasServed: true))? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    await server.shutdown()
  }

  /// Bytes that came before the request, such as a 408 for an idle connection, are not its answer.
  @Test(arguments: [true, false]) func bytesBeforeTheRequestAreNotItsAnswer(_ hasServed: Bool) async throws {
    let maySpeak = Gate()
    let spoken = Gate()
    let server = try await LoopbackServer.startRaw { connection in
      if hasServed {
        guard try await connection.readRequestHead() != nil else { return }
        try await connection.answer("first")
      }
      try await maySpeak.wait()
      try await connection.answer("unasked")
      spoken.open()
      _ = try await connection.readRequestHead()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      if hasServed { _ = try await loop.load(key) }
      let exchange = try await loop.exchange(key)
      defer { exchange.end() }
      maySpeak.open()
      try await spoken.wait()
      for _ in 0..<10_000 where (exchange as? HTTP1Exchange)?.heldInputBytes == 0 { await loop.executor.turn() }
      let error = #expect(throws: TransportError.self) {
        try exchange.send(head: .of(key, "POST"), body: .length(4))
      }
      switch error {
      case .notProcessed(_, .leaving(hasServed: true)): #expect(hasServed)
      case .malformedResponse: #expect(!hasServed)
      default: Issue.record("\(String(describing: error))")
      }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The server says that it closes the connection, and leaves it open: it is not used again all the same.
  @Test(arguments: [
    "Connection: close\r\n", "Connection: keep-alive\r\nKeep-Alive: timeout=5, max=0\r\n",
    // It may be closed while the next request is on its way.
    "Keep-Alive: timeout=1\r\n", "Keep-Alive: timeout=0, max=100\r\n",
  ])
  func aConnectionThatTheServerWillCloseIsNotUsedAgain(_ fields: String) async throws {
    let server = try await LoopbackServer.startRaw { connection in
      while let head = try await connection.readRequestHead() {
        try await connection.answer("\(connection.number) \(head.prefix(4))", fields: fields)
      }
    }
    let key = key(server)
    let answers = try await TransportOnLoop.run { loop in
      [try await loop.load(key).body, try await loop.load(key, "POST").body]
    }
    #expect(answers == ["1 GET ", "2 POST"])
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func theLastChunkIsWrittenOnce() async throws {
    let received = Recorder<String>()
    let server = try await LoopbackServer.startRaw { connection in
      guard try await connection.readRequestHead() != nil else { return }
      var body = ""
      while !body.contains("GET"), let bytes = try await connection.read() {
        body += String(buffer: bytes)
        if body.hasSuffix("0\r\n\r\n") { try await connection.answer("ok") }
      }
      received.record(body)
      try await connection.answer("ok")
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let exchange = try await loop.exchange(key)
      try exchange.send(head: .of(key, "PUT"), body: .chunked)
      try await exchange.write(ByteBuffer(string: "body"))
      try await exchange.finish(trailers: nil)
      try await exchange.finish(trailers: nil)
      _ = try await exchange.nextHead()
      while try await exchange.nextChunk() != nil {}
      exchange.end()
      _ = try await loop.load(key)
    }
    let body = try await received.next()
    #expect(body.hasPrefix("4\r\nbody\r\n0\r\n\r\nGET"))
    await server.shutdown()
  }

  /// A server that sends single bytes to a reader that is held back: what is kept for it stays within its limit.
  @Test func singleBytesForAHeldReaderTakeLittleMemory() async throws {
    let count = 20_000
    let sent = Gate()
    let server = try await LoopbackServer.startRaw { connection in
      guard try await connection.readRequestHead() != nil else { return }
      try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      for _ in 0..<count { try await connection.write([120]) }
      sent.open()
      _ = try await connection.readRequestHead()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let exchange = try await loop.exchange(key)
      try exchange.send(head: .of(key), body: .none)
      _ = try await exchange.nextHead()
      try await sent.wait()
      await loop.socketsWereLookedAt()
      let held = try #require(exchange as? HTTP1Exchange).heldInputBytes
      // Some of it may still be in the socket.
      #expect(held < 128 * 1024)
      var read = 0
      while let bytes = try await exchange.nextChunk() { read += bytes.readableBytes }
      exchange.end()
      #expect(read == count)
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A body that ends with the connection, while the request's body is sent: a write that meets a connection which the
  /// server has reset is no end of the response, unless the server had closed its side before.
  @Test(arguments: [true, false]) func aFailedWriteIsNoEndOfTheResponse(_ endsInOrder: Bool) async throws {
    let mayReset = Gate()
    let wasReset = DispatchSemaphore(value: 0)
    let server = try await LoopbackServer.startRaw { connection in
      guard try await connection.readRequestHead() != nil else { return }
      try await connection.write("HTTP/1.1 200 OK\r\n\r\npart")
      try await mayReset.wait()
      if endsInOrder { try await connection.finishWriting() }
      connection.reset()
      try await connection.waitUntilClosed()
      wasReset.signal()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let exchange = try await loop.exchange(key)
      defer { exchange.end() }
      try exchange.send(head: .of(key, "POST"), body: .chunked)
      _ = try await exchange.nextHead()
      let part = try await exchange.nextChunk()
      #expect(part == ByteBuffer(string: "part"))
      mayReset.open()
      // The loop, which stands still meanwhile, meets the reset when it writes.
      Self.wait(for: wasReset)
      try await exchange.write(ByteBuffer(string: "body"))
      if endsInOrder {
        let end = try await exchange.nextChunk()
        #expect(end == nil)
      } else {
        await #expect(throws: TransportError.self) { _ = try await exchange.nextChunk() }
      }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Sendable private static func wait(for event: DispatchSemaphore) {
    let outcome = event.wait(timeout: .now() + 10)
    #expect(outcome == .success)
  }
}

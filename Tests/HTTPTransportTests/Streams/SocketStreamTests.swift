import Foundation
import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct SocketStreamTests {
  private func key(_ server: LoopbackServer) -> ConnectionKey {
    ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
  }

  /// A peer that sends single bytes to an app that does not read: what is kept for it stays within its limit, and the
  /// peer's closing is noticed all the same.
  @Test func singleBytesForAnAppThatDoesNotReadTakeLittleMemory() async throws {
    let count = 5_000
    let server = try await LoopbackServer.startRaw { connection in
      for _ in 0..<count { try await connection.write([120]) }
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      let ended = Gate()
      stream.whenInputEnds { ended.open() }
      try await ended.wait()
      let held = try #require(stream as? SocketStream).heldInputBytes
      #expect(held < 64 * 1024)
      var read = 0
      while let bytes = try await stream.read() { read += bytes.readableBytes }
      #expect(read == count)
      stream.close()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test func bytesThatArePutBackAreReadFirst() async throws {
    let server = try await LoopbackServer.startRaw { connection in
      try await connection.write("world")
      _ = try await connection.read()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      stream.unread(ByteBuffer(string: "hello "))
      var text = ""
      while text.count < 11, let bytes = try await stream.read() { text += String(buffer: bytes) }
      #expect(text == "hello world")
      try await stream.write(ByteBuffer(string: "done"))
      #expect(try await stream.read() == nil)
      stream.close()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// A write that meets a connection which the peer has reset is no end of what the peer sends.
  @Test func aFailedWriteIsNoEndOfTheInput() async throws {
    let mayReset = Gate()
    let server = try await LoopbackServer.startRaw { connection in
      try await connection.write("part")
      try await mayReset.wait()
      connection.reset()
      try await connection.waitUntilClosed()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      let part = try await stream.read()
      #expect(part == ByteBuffer(string: "part"))
      mayReset.open()
      // The loop, which stands still meanwhile, meets the reset when it writes.
      try Self.waitForReset(of: #require(stream as? SocketStream).channel)
      await #expect(throws: TransportError.self) { try await stream.write(ByteBuffer(string: "body")) }
      await #expect(throws: TransportError.self) { _ = try await stream.read() }
      stream.close()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// `close` breaks the connection off, `end` ends it in order.
  @Test(arguments: [true, false]) func aReadThatWaitsFailsWhenTheStreamIsClosed(_ endsInOrder: Bool) async throws {
    let server = try await LoopbackServer.startRaw { connection in try await connection.waitUntilClosed() }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      let reading = Task(executorPreference: loop.executor) { try await stream.read() }
      await loop.executor.turn()
      if endsInOrder { stream.end(sending: nil, patience: .zero) } else { stream.close() }
      let result = await reading.result
      if endsInOrder {
        let bytes = try result.get()
        #expect(bytes == nil)
      } else {
        #expect(throws: TransportError.self) { try result.get() }
        await #expect(throws: TransportError.self) { _ = try await stream.read() }
      }
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  @Test(arguments: StreamEnd.allCases) func noHandshakeBeginsOnAConnectionThatHasEnded(_ end: StreamEnd) async throws {
    let server = try await LoopbackServer.startRaw { connection in
      if end == .there { try await connection.finishWriting() }
      try await connection.waitUntilClosed()
    }
    let key = key(server)
    try await TransportOnLoop.run { loop in
      let stream = try await loop.transport.connect(to: key, on: loop.executor).stream()
      let ended = Gate()
      stream.whenInputEnds { ended.open() }
      if end == .here { stream.close() }
      try await ended.wait()
      let terms = TLSTerms(host: key.host, port: key.port, handshake: nil, transport: loop.transport)
      let error = await #expect(throws: TransportError.self) { try await stream.startTLS(terms) }
      guard case .tlsHandshakeFailed(.library(let failure))? = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(failure.kind == .connectionEnded)
      stream.close()
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  enum StreamEnd: CaseIterable { case here, there }

  /// Blocks the loop until the kernel has the reset for the channel's socket: it may come a little after the peer's call.
  @Sendable private static func waitForReset(of channel: any Channel) throws {
    try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
      var state = pollfd(fd: socket, events: 0, revents: 0)
      let ready = poll(&state, 1, Int32(patience / .milliseconds(1)))
      #expect(ready == 1 && Int32(state.revents) & POLLERR != 0)
    }
  }
}

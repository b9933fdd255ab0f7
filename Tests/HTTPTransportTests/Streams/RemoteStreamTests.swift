import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct RemoteStreamTests {
  /// Every step is done on the connection's loop, which asserts it, and returns to the caller's.
  @Test func aStreamIsUsedFromAnotherLoop() async throws {
    let executors = LoopExecutor.all
    guard executors.count > 1 else { return }
    let (home, other) = (executors[0], executors[1])
    let server = try await LoopbackServer.startRaw { connection in
      while let bytes = try await connection.read() { try await connection.write(bytes) }
    }
    let transport = HTTPTransport(configuration: TransportConfiguration())
    let key = ConnectionKey(scheme: .http, host: "127.0.0.1", port: server.port)
    let remote = try await withTaskExecutorPreference(home) {
      RemoteStream(try await transport.connect(to: key, on: home).stream(), executor: home)
    }
    let echoed = try await withTaskExecutorPreference(other) {
      let ended = Gate()
      remote.whenInputEnds { ended.open() }
      var echoed = ""
      for number in 0..<50 {
        try await remote.write(ByteBuffer(string: "\(number % 10)"))
        other.loop.assertInEventLoop()
        guard let bytes = try await remote.read() else { break }
        other.loop.assertInEventLoop()
        echoed += String(buffer: bytes)
      }
      try await remote.closeWrite()
      other.loop.assertInEventLoop()
      try await ended.wait()
      remote.close()
      return echoed
    }
    #expect(echoed == String(repeating: "0123456789", count: 5))
    transport.shutDown()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

import LoopbackServer
import NIOCore
import Testing

@testable import HTTPTransport

@Suite struct StreamConnectingTests {
  private struct Abort: Error {}

  /// Not that of the attempt, which is given up.
  @Test func aConnectionThatIsGivenUpFailsWithTheErrorOfTheAbort() async throws {
    let server = try await LoopbackServer.startRaw { connection in try await connection.waitUntilClosed() }
    let key = ConnectionKey(scheme: .https, host: "127.0.0.1", port: server.port)
    try await TransportOnLoop.run { loop in
      let connecting = loop.transport.connect(to: key, on: loop.executor)
      let waiting = Task(executorPreference: loop.executor) { _ = try await connecting.stream() }
      // The server says nothing to the handshake.
      try await server.waitForOpenConnections(1)
      connecting.abort(Abort())
      await #expect(throws: Abort.self) { try await waiting.value }
      #expect(connecting.record != nil)
    }
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

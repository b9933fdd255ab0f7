import LoopbackServer
import NIOCore
import NIOPosix
import Testing

@testable import HTTPTransport

@Suite struct ConnectionDelayTests {
  @Test func theKernelTellsTheRoundTrip() async throws {
    let server = try await LoopbackServer.startRaw { connection in while try await connection.read() != nil {} }
    let channel = try await ClientBootstrap(group: LoopExecutor.all[0].loop)
      .connect(host: "127.0.0.1", port: server.port).get()
    let delay = try #require(
      try await channel.eventLoop.submit { ConnectionDelay.roundTrip(of: channel, .receiving) }.get())
    #expect(delay > 0 && delay < 1)
    let shortest = try #require(
      try await channel.eventLoop.submit { ConnectionDelay.shortestRoundTrip(of: channel) }.get())
    #expect(shortest > .zero && shortest < .seconds(1))
    try await channel.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

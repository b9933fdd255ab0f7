import LoopbackServer
import NIOCore
import NIOPosix
import Testing

@testable import HTTPTransport

@Suite struct SentBytesTests {
  /// The server reads when the test says so. What neither kernel has room for is acknowledged only then.
  @Test func whatThePeerTakesIsCounted() async throws {
    let size = 16 << 20
    let mayRead = Gate()
    var options = LoopbackServer.Options()
    options.receiveBuffer = 512 << 10
    let server = try await LoopbackServer.startRaw(options: options) { connection in
      try await mayRead.wait()
      while try await connection.read() != nil {}
    }
    let channel = try await ClientBootstrap(group: LoopExecutor.all[0].loop)
      .connect(host: "127.0.0.1", port: server.port).get()
    @Sendable func sent() async throws -> SentBytes {
      try #require(try await channel.eventLoop.submit { SentBytes.of(channel) }.get())
    }
    let before = try await sent()
    #expect(before.outstanding == 0)
    channel.writeAndFlush(ByteBuffer(repeating: 1, count: size), promise: nil)
    try await eventually("bytes that are not acknowledged") { try await sent().outstanding > 0 }
    let held = try await sent()
    #expect(held.acknowledged - before.acknowledged < UInt64(size))
    mayRead.open()
    try await eventually("all bytes to be acknowledged") {
      let now = try await sent()
      return now.acknowledged - before.acknowledged == UInt64(size) && now.outstanding == 0
    }
    try await channel.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }

  /// The kernel counts what went over the first path only.
  @Test(.enabled(if: MultipathTCP.isSupported, "the kernel has no multipath TCP: sysctl net.mptcp.enabled=1"))
  func aConnectionOverSeveralPathsIsNotCounted() async throws {
    let group = LoopExecutor.all[0].loop
    let server = try await ServerBootstrap(group: group).enableMPTCP(true).bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let channel = try await ClientBootstrap(group: group).enableMPTCP(true).connect(host: "127.0.0.1", port: port).get()
    let (isMultipath, isCounted) = try await channel.eventLoop.submit {
      (MultipathTCP.isUsed(by: channel), SentBytes.of(channel) != nil)
    }.get()
    #expect(isCounted == !isMultipath)
    try await channel.close()
    try await server.close()
  }
}

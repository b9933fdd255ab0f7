import Glibc
import LoopbackServer
import NIOCore
import NIOPosix
import Testing

@testable import HTTPTransport

@Suite struct SocketMarksTests {
  /// Bytes that the kernel takes ahead of the network are told to the app as sent, and hide that bytes leave.
  @Test func theSocketIsTuned() async throws {
    let server = try await LoopbackServer.startRaw { connection in while try await connection.read() != nil {} }
    let channel = try await ClientBootstrap(group: LoopExecutor.all[0].loop)
      .channelInitializer { channel in channel.eventLoop.makeCompletedFuture { SocketMarks.tune(channel) } }
      .connect(host: "127.0.0.1", port: server.port).get()
    // TCP_NOTSENT_LOWAT of <netinet/tcp.h>.
    let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 25))
    let limit = try await channel.getOption(option).get()
    #expect(limit == CInt(SocketMarks.unsentBytes))
    for option in [ChannelOptions.socketOption(.so_keepalive), .tcpOption(.tcp_nodelay)] {
      #expect(try await channel.getOption(option).get() != 0)
    }
    let isInherited = try await channel.eventLoop.submit {
      channel.withSocket { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }
    }.get()
    #expect(isInherited == false)
    try await channel.close()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

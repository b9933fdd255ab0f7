import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import HTTPTransport

@Suite struct ReceiveWindowTests {
  /// What the other side may send at most before this side has read it.
  private func window(of channel: any Channel) throws -> CInt? {
    try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
      var value: CInt = 0
      var size = socklen_t(MemoryLayout<CInt>.size)
      return getsockopt(socket, CInt(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, &size) == 0 ? value : nil
    } ?? nil
  }

  @Test(arguments: [
    "": false, "Linux": false, "4.19.0": false, "5.15.0-91-generic": false, "6.1.0-13-amd64": false, "6.6.4": false,
    "6.7.0-rc1": true, "6.18.44": true, "7.0": true, "10.1": true,
  ])
  func kernelsThatKeepAWindowClosedAreLeftAlone(release: String, isLimited: Bool) {
    #expect(ReceiveWindow.canBeLimited(byKernel: release) == isLimited)
  }

  @Test(.enabled(if: ReceiveWindow.canBeLimited, "the kernel is older than Linux 6.7"))
  func itIsLimitedAndFreeAgain() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let server = try await ServerBootstrap(group: loop).bind(host: "127.0.0.1", port: 0).get()
    let channel = try await ClientBootstrap(group: loop).connect(to: #require(server.localAddress)).get()
    let windows = try await loop.submit { () throws -> [CInt?] in
      ReceiveWindow.limit(20_000, of: channel)
      let limited = try self.window(of: channel)
      ReceiveWindow.limit(nil, of: channel)
      return [limited, try self.window(of: channel)]
    }.get()
    #expect(windows[0] == 20_000 && windows[1] ?? 0 > 1 << 20)
    try await channel.close()
    try await server.close()
  }
}

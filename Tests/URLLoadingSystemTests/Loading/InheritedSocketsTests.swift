import EveryVersion
import Foundation
import LoopbackServer
import Testing
import URLLoadingSystem

/// Programs that an app starts get none of its connections: servers would see no end of those.
@Suite struct InheritedSocketsTests {
  private struct NoSocket: Error {}

  /// The descriptor of this process's socket between these ports of 127.0.0.1.
  private static func socket(from local: Int, to remote: Int) throws -> CInt {
    func port(
      _ descriptor: CInt, _ name: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    )
      -> Int?
    {
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
      }
      return result == 0 && address.sin_family == AF_INET ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
    for descriptor in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap({ CInt($0) })
    where port(descriptor, { getsockname($0, $1, $2) }) == local
      && port(descriptor, { getpeername($0, $1, $2) }) == remote
    {
      return descriptor
    }
    throw NoSocket()
  }

  @Test(.overHTTP1To3) func connectionsAreClosedInProgramsThatTheAppStarts() async throws {
    let server = try await LoopbackServer.start(tls: WireVersion.current.tls()) { .ok($0.target) }
    let session = URLSession(configuration: .loopback)
    let request = URLRequest(url: server.url())
    let transaction = try #require(try await MetricsTests.metrics(request, in: session).transactionMetrics.last)
    let (local, remote) = (try #require(transaction.localPort), try #require(transaction.remotePort))
    let descriptor = try Self.socket(from: local, to: remote)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    session.invalidateAndCancel()
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

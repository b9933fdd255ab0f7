import Foundation
import HTTPTransport
import NIOPosix
import Testing

@testable import URLLoadingSystem

/// The event loops on which loads of a host of many connections begin.
@Suite struct LoadPlacementTests {
  private final class Client: LoadClient {}

  /// A transport of four loops, two of them for each host.
  private static func withTransport(_ body: (HTTPTransport) async throws -> Void) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)
    var configuration = TransportConfiguration()
    configuration.maximumConnectionsPerHost = 16
    let transport = HTTPTransport(
      configuration: configuration, executors: group.makeIterator().map { LoopExecutor(loop: $0) })
    try await body(transport)
    transport.shutDown()
    try await group.shutdownGracefully()
  }

  private static func loads(
    _ count: Int, of url: String, _ configuration: LoadConfiguration = LoadConfiguration(),
    over transport: HTTPTransport
  ) -> [LoadContext] {
    (0..<count).map { _ in
      LoadContext(for: URL(string: url), configuration: configuration, transport: transport, client: Client())
    }
  }

  /// How many of the loads begin on the first loop of the host.
  private static func countOnFirstLoop(_ loads: [LoadContext], of host: String, over transport: HTTPTransport) -> Int {
    let first = transport.executor(forHost: host)
    return loads.count { $0.executor === first }
  }

  @Test func aLoadThatEndsMakesRoomInItsShare() async throws {
    try await Self.withTransport { transport in
      var loads = Self.loads(8, of: "http://host.test/", over: transport)
      #expect(Self.countOnFirstLoop(loads, of: "host.test", over: transport) == 4)
      loads.removeLast(4)
      loads += Self.loads(4, of: "http://host.test/", over: transport)
      #expect(Self.countOnFirstLoop(loads, of: "host.test", over: transport) == 4)
    }
  }
}

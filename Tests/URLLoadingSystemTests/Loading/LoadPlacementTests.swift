import Foundation
import HTTPTransport
import LoopbackServer
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

  /// As after a redirect. The loop of one of the hosts has a share of 127.0.0.1, that of the other has none.
  @Test(arguments: ["ten.test", "two.test"])
  func loadsFromTheLoopOfAnotherHostUseAllConnections(_ other: String) async throws {
    let full = Gate()
    let server = try await LoopbackServer.start { _ in Reply.ok("ok").preceded(by: [.waitFor(full)]) }
    let request = URLRequest(url: server.url())
    let configuration = URLSessionConfiguration.loopback.loadConfiguration
    try await Self.withTransport { transport in
      let isFirst = transport.executor(forHost: other) === transport.executor(forHost: "127.0.0.1")
      #expect(isFirst == (other == "ten.test"))
      let ends = Recorder<Result<String, any Error>>()
      for load in Self.loads(20, of: "https://\(other)/", configuration, over: transport) {
        load.start { load in
          do {
            let loaded = try await LoadPipeline.load(LoadRequest(request), in: load)
            var text = ""
            while let bytes = try await loaded.body.next() { text += String(buffer: bytes) }
            ends.record(.success(text))
          } catch { ends.record(.failure(error)) }
          load.control.finish()
        }
      }
      try await eventually("the limit to be reached") { server.connectionCount == 16 }
      full.open()
      for end in try await ends.first(20) { #expect(try end.get() == "ok") }
    }
    #expect(server.connectionCount == 16)
    try await server.expectNoOpenConnections()
    await server.shutdown()
  }
}

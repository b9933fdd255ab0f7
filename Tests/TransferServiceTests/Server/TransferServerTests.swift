import Logging
import LoopbackServer
import NIOPosix
import SystemServices
import Testing
import TransferProtocol

@testable import TransferService

@Suite struct TransferServerTests {
  /// The program of an app is looked up in files of the kernel, and no loop waits for them.
  @Test func appsAreIdentifiedOffTheLoops() async throws {
    let wasOnLoop = Recorder<Bool>()
    try await withEngine { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      let server = try await TransferServer.start(at: .path(path), engine: fixture.engine, log: log) { credentials in
        wasOnLoop.record(MultiThreadedEventLoopGroup.currentEventLoop != nil)
        return try PeerIdentity(credentials)
      }
      let client = try await SocketClient.connect(path)
      #expect(try await client.ask(.hello(Hello(client: "tests"))) != nil)
      #expect(wasOnLoop.all == [false])
      client.close()
      await server.close()
    }
  }
}

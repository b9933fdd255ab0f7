import Dispatch
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

  /// An app that connects again and again while its program is looked up does not use up the service's files.
  @Test func connectionsWhoseProgramIsBeingLookedUpCount() async throws {
    let asked = Recorder<Void>()
    let mayAnswer = DispatchSemaphore(value: 0)
    try await withEngine { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      var limits = ConnectionLimits()
      limits.connections = 1
      let server = try await TransferServer.start(
        at: .path(path), engine: fixture.engine, log: log, limits: limits
      ) { credentials in
        asked.record(())
        mayAnswer.wait()
        return try PeerIdentity(credentials)
      }
      let first = try await SocketClient.connect(path)
      try await asked.next()
      // It may be closed while it is being set up.
      var isRefused = true
      if let second = try? await SocketClient.connect(path) {
        isRefused = (try? await second.closed.wait(within: patience)) != nil
      }
      mayAnswer.signal()
      if !isRefused { mayAnswer.signal() }
      #expect(isRefused && asked.all.count == 1)
      #expect(try await first.ask(.hello(Hello(client: "tests"))) != nil)
      first.close()
      await server.close()
    }
  }
}

import Foundation
import Logging
import LoopbackServer
import NIOCore
import Testing
import TransferProtocol

@testable import TransferService

/// Connections that cost the service more than they should.
extension ClientConnectionTests {
  private func withServer(
    _ limits: ConnectionLimits, _ body: (SocketClient, String) async throws -> Void
  ) async throws {
    try await withEngine(runner: ScriptedRunner()) { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      let server = try await TransferServer.start(
        at: .path(path), engine: fixture.engine, log: log, limits: limits)
      let client = try await SocketClient.connect(path)
      try await body(client, path)
      client.close()
      await server.close()
    }
  }

  /// The beginning of a message of that many bytes.
  private func beginning(ofLength length: UInt32) -> [UInt8] {
    withUnsafeBytes(of: length.bigEndian) { Array($0) } + Array("{".utf8)
  }

  @Test func aConnectionThatSaysNoHelloIsClosed() async throws {
    var limits = ConnectionLimits()
    limits.timeForHello = .milliseconds(50)
    try await withServer(limits) { client, _ in
      // Other requests that are allowed before hello don't stand for it.
      client.send(Array(try MessageFraming.frame(ClientMessage(id: 1, request: .version))))
      try await client.closed.wait(within: patience)
    }
  }

  @Test func halfAMessageIsNotWaitedForWithoutEnd() async throws {
    var limits = ConnectionLimits()
    limits.timeForMessage = .milliseconds(50)
    try await withServer(limits) { client, path in
      _ = try await client.ask(.hello(Hello(client: "tests")))
      client.send(beginning(ofLength: 100))
      try await client.closed.wait(within: patience)
      let next = try await SocketClient.connect(path)
      #expect(try await next.ask(.hello(Hello(client: "tests"))) != nil)
      next.close()
    }
  }

  @Test func aLongMessageBeforeHelloEndsTheConnection() async throws {
    let limits = ConnectionLimits()
    try await withServer(limits) { client, _ in
      client.send(beginning(ofLength: UInt32(limits.bytesBeforeHello) + 1))
      try await client.closed.wait(within: patience)
    }
  }

  @Test func aLongMessageIsTakenAfterHello() async throws {
    let limits = ConnectionLimits()
    try await withServer(limits) { client, _ in
      _ = try await client.ask(.hello(Hello(client: "tests")))
      let text = String(repeating: "x", count: limits.bytesBeforeHello)
      guard case .refused(let refusal)? = try await client.ask(.attach(Attach(session: text))) else {
        Issue.record("it was not read")
        return
      }
      #expect(refusal.reason == .tooLarge)
    }
  }

  /// The bytes that a connection has sent of messages are given back when it ends.
  @Test func connectionsThatHoldTooManyBytesAreClosed() async throws {
    var limits = ConnectionLimits()
    limits.heldBytesPerProgram = 50
    try await withServer(limits) { client, path in
      _ = try await client.ask(.hello(Hello(client: "tests")))
      client.send(beginning(ofLength: 1_000) + Array(repeating: 0x20, count: 100))
      try await client.closed.wait(within: patience)
      let next = try await SocketClient.connect(path)
      #expect(try await next.ask(.hello(Hello(client: "tests"))) != nil)
      next.close()
    }
  }
}

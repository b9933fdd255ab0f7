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

  private func isRefusedForRoom(_ reply: ServiceReply?, with sentence: String) -> Bool {
    guard case .refused(let refusal)? = reply else { return false }
    return refusal.reason == .storage && refusal.hasTooManyConnections == true && refusal.message.contains(sentence)
  }

  /// A session that finds no place does not keep the connection from short requests, and has one when another connection ends.
  @Test func sessionsLeavePlacesForShortRequests() async throws {
    var limits = ConnectionLimits()
    limits.sessionConnectionsPerProgram = 1
    try await withServer(limits) { first, path in
      _ = try await first.ask(.hello(Hello(client: "tests")))
      for session in ["a", "b"] {
        guard case .attached? = try await first.ask(.attach(Attach(session: session))) else {
          Issue.record("session \(session) is not attached")
          return
        }
      }
      let second = try await SocketClient.connect(path)
      _ = try await second.ask(.hello(Hello(client: "tests")))
      let reply = try await second.ask(.attach(Attach(session: "c")))
      #expect(isRefusedForRoom(reply, with: "has 1 connections with sessions already"))
      guard case .transfers? = try await second.ask(.listTransfers(ListTransfers())) else {
        Issue.record("there is no list")
        return
      }
      first.close()
      try await eventually("a place for the session") {
        if case .attached? = try await second.ask(.attach(Attach(session: "c"))) { true } else { false }
      }
      second.close()
    }
  }

  @Test func watchersLeavePlacesForShortRequests() async throws {
    var limits = ConnectionLimits()
    limits.watchingConnectionsPerProgram = 1
    try await withServer(limits) { first, path in
      _ = try await first.ask(.hello(Hello(client: "tests")))
      for _ in 1...2 {
        guard case .transfers? = try await first.ask(.watch(Watch())) else {
          Issue.record("it does not watch")
          return
        }
      }
      let second = try await SocketClient.connect(path)
      _ = try await second.ask(.hello(Hello(client: "tests")))
      #expect(isRefusedForRoom(try await second.ask(.watch(Watch())), with: "has 1 connections that watch already"))
      guard case .transfers? = try await second.ask(.listTransfers(ListTransfers())) else {
        Issue.record("there is no list")
        return
      }
      second.close()
    }
  }

  @Test func aConnectionThatIsTooManyIsToldSo() async throws {
    var limits = ConnectionLimits()
    limits.connectionsPerProgram = 1
    try await withServer(limits) { first, path in
      _ = try await first.ask(.hello(Hello(client: "tests")))
      let second = try await SocketClient.connect(path)
      let reply = try await second.ask(.hello(Hello(client: "tests")))
      #expect(isRefusedForRoom(reply, with: "has 1 connections already"))
      try await second.closed.wait(within: patience)
      #expect(try await first.ask(.version) != nil)
    }
  }

  @Test func aConnectionThatIsTooManyAndSaysNothingIsClosed() async throws {
    var limits = ConnectionLimits()
    limits.connectionsPerProgram = 1
    limits.timeForRefusal = .milliseconds(50)
    try await withServer(limits) { first, path in
      _ = try await first.ask(.hello(Hello(client: "tests")))
      let second = try await SocketClient.connect(path)
      try await second.closed.wait(within: patience)
      #expect(try await first.ask(.version) != nil)
    }
  }
}

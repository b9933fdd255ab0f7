import Dispatch
import Foundation
import Logging
import LoopbackServer
import NIOPosix
import Synchronization
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

  /// A program lies on a file system that hangs.
  @Test func aConnectionWhoseProgramCanNotBeLookedAtIsToldSo() async throws {
    let isHeld = Mutex(true)
    let mayAnswer = DispatchSemaphore(value: 0)
    try await withEngine { fixture in
      var log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      let path = fixture.folder.path + "/run/socket"
      var limits = ConnectionLimits()
      limits.timeForIdentification = .milliseconds(50)
      let server = try await TransferServer.start(
        at: .path(path), engine: fixture.engine, log: log, limits: limits
      ) { credentials in
        if isHeld.withLock({ $0 }) { mayAnswer.wait() }
        return try PeerIdentity(credentials)
      }
      let first = try await SocketClient.connect(path)
      guard case .refused(let refusal)? = try await first.ask(.hello(Hello(client: "tests"))) else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.reason == .storage && refusal.hasTooManyConnections == true)
      #expect(refusal.message.contains("its file system does not answer"))
      try await first.closed.wait(within: patience)
      isHeld.withLock { $0 = false }
      mayAnswer.signal()
      try await eventually("a connection that is taken") {
        let next = try await SocketClient.connect(path)
        defer { next.close() }
        guard case .hello? = try? await next.ask(.hello(Hello(client: "tests"))) else { return false }
        return true
      }
      await server.close()
    }
  }

  /// Far more connections of one program than there are processors, each of which once held a thread that all needed.
  @Test func programsThatCanNotBeLookedAtHoldUpNoOthers() async throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let asked = Recorder<Void>()
    let own = PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid())
    let other = PeerCredentials(pid: getppid(), uid: geteuid(), gid: getegid())
    let peers = PeerLookUp(within: .seconds(1)) { credentials in
      if credentials.pid != own.pid {
        asked.record(())
        mayAnswer.wait()
      }
      return try PeerIdentity(own)
    }
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    let hanging = (1...200).map { _ in peers.peer(other, on: loop) }
    // A busy machine may not answer within the limit either.
    try await eventually("the identity of another program") {
      (try? await peers.peer(own, on: loop).get())?.process.pid == own.pid
    }
    for look in hanging {
      await #expect(throws: PeerLookUp.NoAnswer.self) { try await look.get() }
    }
    #expect(asked.all.count == 2)
    for _ in asked.all { mayAnswer.signal() }
  }
}

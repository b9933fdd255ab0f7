import ChildProcess
import Dispatch
import Foundation
import HTTPTransport
import LoopbackServer
import NIOCore
import NIOPosix
import Testing
import TransferProtocol

@testable import URLLoadingSystem

/// Connecting to a socket where something else than the service listens.
@Suite struct ServiceConnectionTests {
  /// Accepts connections, sends bytes, and records what it is sent.
  private final class Listener: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let received: Recorder<String>
    private let greeting: Data
    /// Whether it waits to be asked.
    private let greetsLate: Bool

    init(_ received: Recorder<String>, greeting: Data, greetsLate: Bool) {
      self.received = received
      self.greetsLate = greetsLate
      self.greeting = greeting
    }

    func channelActive(context: ChannelHandlerContext) {
      if !greeting.isEmpty, !greetsLate {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: greeting)), promise: nil)
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let text = String(buffer: unwrapInboundIn(data))
      received.record(text)
      guard greetsLate, text.contains("hello") else { return }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: greeting)), promise: nil)
    }
  }

  private let received = Recorder<String>()

  /// Runs `body` with the environment that leads to a listener in a folder of that mode.
  private func withListener(
    mode: mode_t, greeting: Data = Data(), greetsLate: Bool = false, _ body: ([String: String]) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "peer-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    chmod(folder, mode)
    // A loop of its own, which reads while a test holds up that of the connections.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { [received] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Listener(received, greeting: greeting, greetsLate: greetsLate))
        }
      }
      .bind(unixDomainSocketPath: folder + "/socket").get()
    do { try await body([ServiceNames.socketVariable: folder + "/socket"]) } catch {
      try await group.shutdownGracefully()
      throw error
    }
    try await channel.close().get()
    try await group.shutdownGracefully()
  }

  /// Other users can put a socket of their own there; the system's own folders are not open to them.
  @Test func nothingIsToldWhereTheFolderIsOpenToOthers() async throws {
    try await withListener(mode: 0o777) { environment in
      let error = await #expect(throws: ServiceUnavailable.self) {
        _ = try await ServiceConnection.open(startsService: false, environment: environment)
      }
      #expect(error?.reason.contains("open to other users") == true)
      #expect(received.all.isEmpty)
    }
  }

  @Test func aListenerThatSaysNothingIsNotWaitedFor() async throws {
    try await withListener(mode: 0o700) { environment in
      let error = await #expect(throws: ServiceUnavailable.self) {
        _ = try await ServiceConnection.open(
          startsService: false, environment: environment, patience: .milliseconds(20))
      }
      #expect(error?.reason.contains("no answer") == true)
    }
  }

  /// A request is not waited for without end. A service that hangs after its greeting is asked once more.
  @Test func aServiceThatHangsAfterItsGreetingIsGivenUp() async throws {
    let hello = HelloReply(version: 3, service: ServiceVersion(program: "1", processIdentifier: 2))
    let greeting = try MessageFraming.frame(ServiceMessage.reply(to: 1, .hello(hello)))
    let closed = Gate()
    try await withListener(mode: 0o700, greeting: greeting, greetsLate: true) { environment in
      let connection = try await ServiceConnection.open(
        startsService: false, environment: environment, patience: .seconds(1), onClose: { closed.open() })
      let error = await #expect(throws: ServiceUnavailable.self) { _ = try await connection.request(.version) }
      #expect(error?.isSilent == true)
      try await closed.wait(within: patience)
      // The request, and the question whether the service lives.
      try await eventually("both messages") {
        received.all.joined().components(separatedBy: "\"version\"").count > 2
      }
    }
  }

  /// On the connection's loop, which reads no reply meanwhile.
  @Test func aRequestIsWrittenBeforeWhatIsDoneMeanwhile() async throws {
    let hello = HelloReply(version: 3, service: ServiceVersion(program: "1", processIdentifier: 2))
    let greeting = try MessageFraming.frame(ServiceMessage.reply(to: 1, .hello(hello)))
    try await withListener(mode: 0o700, greeting: greeting, greetsLate: true) { environment in
      let connection = try await ServiceConnection.open(startsService: false, environment: environment)
      let isRead = DispatchSemaphore(value: 0)
      async let reading: Void = {
        try await eventually("the request") { received.all.joined().contains("\"version\"") }
        isRead.signal()
      }()
      let task = Task(executorPreference: LoopExecutor.all[0]) {
        var isInTime = false
        _ = try? await connection.request(.version) {
          isInTime = isRead.wait(timeout: .now() + .seconds(90)) == .success
        }
        return isInTime
      }
      try await reading
      connection.close()
      #expect(await task.value)
    }
  }

  /// Runs `body` with the environment that leads to a program of that script, which ends without listening.
  private func withProgram(_ script: String, _ body: (String, [String: String]) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "service-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = folder + "/program"
    try ProgramFile.write("#!/bin/sh\n\(script)\n", to: program)
    try await body(
      folder,
      [ServiceNames.socketVariable: folder + "/socket", "URLSESSIOND_PATH": program, "PATH": "/usr/bin:/bin"])
  }

  /// The service works for all apps of the user: what one of them trusts, loads and keeps secret stays with that app.
  @Test func aServiceIsNotStartedWithTheEnvironmentOfTheApp() async throws {
    try await withProgram(#"env > "${0%/*}/seen"; exit 1"#) { folder, environment in
      let own = [
        "SSL_CERT_FILE": "/own.pem", "http_proxy": "p", "LD_LIBRARY_PATH": "/own", "SECRET": "x", "LANG": "of the app",
        "KRB5CCNAME": "/own", "TMPDIR": "/own", "XDG_DATA_HOME": "/data",
      ]
      await #expect(throws: ServiceUnavailable.self) {
        _ = try await ServiceConnection.open(environment: environment.merging(own) { $1 })
      }
      let seen = try String(contentsOfFile: folder + "/seen", encoding: .utf8).split(separator: "\n")
      #expect(seen.contains("XDG_DATA_HOME=/data") && seen.contains("URLSESSIOND_SOCKET=\(folder)/socket"))
      #expect(seen.contains { $0.hasPrefix("LANG=") } && !seen.contains("LANG=of the app"))
      for name in ["SSL_CERT_FILE", "http_proxy", "LD_LIBRARY_PATH", "SECRET", "KRB5CCNAME", "TMPDIR"] {
        #expect(!seen.contains { $0.hasPrefix(name + "=") }, "\(name)")
      }
    }
  }

  static let failures: [(script: String, reason: String)] = [
    (
      "echo 'Error: /run/user/1/x is open to other users (mode 777).' >&2; exit 1",
      "/run/user/1/x is open to other users"
    ),
    ("echo first >&2; printf 'second\\033[1m\\n' >&2; exit 64", "second[1m"),
    ("exit 3", "it ended with status 3"), ("kill -9 $$", "signal 9"),
  ]

  /// The app need not wait for a service that can't come.
  @Test(arguments: failures) func theReasonWhyTheServiceDoesNotStartIsTold(script: String, reason: String) async throws
  {
    try await withProgram(script) { _, environment in
      let error = await #expect(throws: ServiceUnavailable.self) {
        _ = try await ServiceConnection.open(environment: environment)
      }
      #expect(error?.reason.contains("could not start the service: ") == true)
      #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }
  }

  /// A hello that was not asked for proves nothing.
  @Test func pushesBeforeTheGreetingAreIgnored() async throws {
    let hello = HelloReply(version: 3, service: ServiceVersion(program: "1", processIdentifier: 2))
    var greeting = try MessageFraming.frame(ServiceMessage.reply(to: 9, .hello(hello)))
    greeting += try MessageFraming.frame(ServiceMessage.push(.eventsFinished(SessionReference(session: "s"))))
    greeting += try MessageFraming.frame(ServiceMessage.reply(to: 1, .refused(Refusal(.identity, "no"))))
    let pushes = Recorder<ServicePush>()
    try await withListener(mode: 0o700, greeting: greeting) { environment in
      // The refusal may come before the question, which is then answered by the end of the connection.
      await #expect(throws: (any Error).self) {
        _ = try await ServiceConnection.open(
          startsService: false, environment: environment, patience: .milliseconds(100)
        ) { pushes.record($0) }
      }
      #expect(pushes.all.isEmpty)
    }
  }
}

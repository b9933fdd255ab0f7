import Foundation
import Logging
import LoopbackServer
import SystemServices
import Testing

@testable import TransferService

@Suite struct SignOfLifeTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var socket: String { folder.path + "/socket" }

  private func rules(seconds: TimeInterval) -> WorkerLiveness.Rules {
    var rules = WorkerLiveness.Rules()
    (rules.tick, rules.ticksForAnswer) = (seconds / 2, 2)
    return rules
  }

  @Test func aServiceThatServesAnswers() async throws {
    let log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    let daemon = try await TransferDaemon.start(
      .init(stateDirectory: folder.path + "/state", socketPath: socket, log: log))
    #expect(try await SignOfLife.comes(from: [folder.path + "/absent", socket], rules: rules(seconds: 60)))
    await daemon.shutDown()
  }

  /// As the kernel accepts connections for a process that is stopped.
  @Test(arguments: [0, 16]) func aServiceThatAcceptsNothingGivesNone(backlog: Int32) async throws {
    let listener = try UnixListener.bind(socket)
    defer { close(listener) }
    #expect(listen(listener, backlog) == 0)
    // A process that has been asked many times takes no more connections.
    var waiting: [Int32] = []
    defer { waiting.forEach { close($0) } }
    if backlog == 0 { while let connection = try? UnixListener.connect(socket) { waiting.append(connection) } }
    #expect(try await !SignOfLife.comes(from: [socket], rules: rules(seconds: 0.2)))
  }

  @Test func noServiceGivesNone() async throws {
    #expect(try await !SignOfLife.comes(from: [socket], rules: rules(seconds: 0.1)))
  }

  /// One that has too many connections lives.
  @Test func aConnectionThatIsClosedIsASign() async throws {
    let listener = try UnixListener.bind(socket)
    defer { close(listener) }
    #expect(listen(listener, 1) == 0)
    async let sign = SignOfLife.comes(from: [socket], rules: rules(seconds: 120))
    try await eventually("a connection") {
      let connection = accept(listener, nil, nil)
      if connection >= 0 { close(connection) }
      return connection >= 0
    }
    #expect(try await sign)
  }

  @Test func theQuestionEndsWithItsTask() async throws {
    let listener = try UnixListener.bind(socket)
    defer { close(listener) }
    #expect(listen(listener, 1) == 0)
    let asking = Task { [socket, rules = rules(seconds: 120)] in
      try await SignOfLife.comes(from: [socket], rules: rules)
    }
    asking.cancel()
    await #expect(throws: CancellationError.self) { _ = try await asking.value }
  }

  @Test func aPauseThatTookLongCountsLittle() {
    var wait = SignOfLife.Wait(limit: .milliseconds(400))
    for time in [Duration.milliseconds(60), .seconds(3_600), .milliseconds(90), .seconds(10)] {
      #expect(!wait.isOver)
      wait.passed(time, of: .milliseconds(50))
    }
    #expect(!wait.isOver, "60 + 100 + 90 + 100")
    wait.passed(.milliseconds(50), of: .milliseconds(50))
    #expect(wait.isOver)
  }
}

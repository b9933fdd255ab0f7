import ChildProcess
import Foundation
import LoopbackServer
import Synchronization
import Testing
import TransferScript

/// A test app that the test has started, and that does what it is told.
final class RunningApp: @unchecked Sendable {
  // Sendable by hand: the process is started in `init` and after that only signalled; commands are numbered in order by
  // the one test that has it.
  private let process = ChildProcess()
  private let input = Pipe()
  private let ended = Gate()
  private let log: AppLog
  private var lastCommand = 0

  var pid: pid_t { process.processIdentifier }
  var isRunning: Bool { process.isRunning }
  /// How it ended; nil: it runs.
  var end: String? {
    guard !process.isRunning else { return nil }
    return "\(process.terminationReason) \(process.terminationStatus)"
  }

  /// - Parameter place: a command that runs the program elsewhere, in the same process: in other namespaces.
  init(_ home: Home, program: String, in place: [String] = []) throws {
    log = home.log((program as NSString).lastPathComponent)
    let words = place + [program]
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = home.environment
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    // No other child of this process may hold the pipe open: its end is what ends the app.
    _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    process.terminationHandler = { [ended] _ in ended.open() }
    // The threads of Swift's pool block most signals, and a child inherits that.
    var none = sigset_t()
    var previous = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    try process.run()
  }

  deinit { kill(process.processIdentifier, SIGKILL) }

  /// Tells it something, and waits until that is done.
  @discardableResult
  func tell(_ command: AppCommand) async throws -> AppEntry {
    let number = try say(command)
    let pid = self.pid
    return try await log.first("command \(number)") {
      $0.process == pid && $0.kind == .done && $0.command == number
    }
  }

  /// Tells it something that it may not live to finish.
  @discardableResult
  func say(_ command: AppCommand) throws -> Int {
    lastCommand += 1
    try input.fileHandleForWriting.write(contentsOf: JSONEncoder().encode(command) + Data("\n".utf8))
    return lastCommand
  }

  func tasks() async throws -> [AppTask] {
    try await tell(.list)
    return log.entries.last { $0.process == pid && $0.kind == .tasks }?.tasks ?? []
  }

  func kill9() async throws {
    kill(pid, SIGKILL)
    try await waitForEnd()
  }

  /// Ends it by itself, in good order.
  func quit() async throws {
    try say(.exit)
    try await waitForEnd()
  }

  func waitForEnd() async throws { try await ended.wait(within: patience) }
}

extension Home {
  func start(
    _ program: String = Programs.path("transfer-app"), in place: [String] = []
  ) async throws -> RunningApp {
    let app = try RunningApp(self, program: program, in: place)
    let pid = app.pid
    _ = try await log((program as NSString).lastPathComponent).first("the session") {
      $0.process == pid && $0.kind == .sessionMade
    }
    return app
  }

  func log(_ program: String = "transfer-app") -> AppLog { AppLog(path: app(program).log) }
}

import Foundation
import Logging
import Synchronization
import SystemServices

/// Keeps a service that no service manager looks after: starts it, and starts it again when it did not end by itself.
///
/// A worker that ends with status 0 has nothing left to do, and its supervisor ends too. One that crashes or is killed
/// is replaced at once, and after several times in a row more and more slowly. A request to end is passed on.
final class Supervisor: Sendable {
  private let program: String
  private let arguments: [String]
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var worker: pid_t?
    var isEnding = false
  }

  /// A worker that has lived so long was not part of a series of crashes.
  private static let soundLife: TimeInterval = 30
  private static let firstPause: TimeInterval = 0.05
  private static let longestPause: TimeInterval = 30

  init(arguments: [String], log: Logger) throws {
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    self.arguments = arguments
    self.log = log
  }

  func run() async throws {
    let passingOn = Task {
      _ = await TerminationSignals().firstOf { try? await Task.sleep(for: .seconds(1e9)) }
      let worker = state.withLock { state in
        state.isEnding = true
        return state.worker
      }
      if let worker { kill(worker, SIGTERM) }
    }
    defer { passingOn.cancel() }
    let clock = SystemClock()
    var pause = Supervisor.firstPause
    while true {
      let started = clock.now
      let end = try await work()
      if state.withLock({ $0.isEnding }) || end == .exited(0) { return }
      if clock.now - started > Supervisor.soundLife { pause = Supervisor.firstPause }
      log.error("the service ended (\(end)); starting it again in \(pause) s")
      try await Task.sleep(for: .seconds(pause))
      if state.withLock({ $0.isEnding }) { return }
      pause = min(pause * 2, Supervisor.longestPause)
    }
  }

  /// Starts a worker and waits for its end.
  private func work() async throws -> DetachedProcess.End {
    let worker = try DetachedProcess.start(
      program, arguments: arguments, environment: ProcessInfo.processInfo.environment, output: STDERR_FILENO)
    let mustEnd = state.withLock { state in
      state.worker = worker
      return state.isEnding
    }
    if mustEnd { kill(worker, SIGTERM) }
    let end = await withCheckedContinuation { continuation in
      DetachedProcess.whenEnded(worker) { continuation.resume(returning: $0) }
    }
    state.withLock { $0.worker = nil }
    return end
  }
}

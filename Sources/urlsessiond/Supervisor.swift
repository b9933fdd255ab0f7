import Foundation
import Logging
import Synchronization
import SystemServices

/// Keeps a service that no service manager looks after: starts it, and starts it again when it did not end by itself.
///
/// A worker that ends with status 0 has nothing left to do, and its supervisor ends too, as it does when one after the
/// other ends at once with a failure of its own. One that crashes or is killed
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
  /// One that ends by itself so often, at once and with a failure, has a reason that another start does not remove.
  private static let mostRefusals = 10
  private static let firstPause: TimeInterval = 0.05
  private static let longestPause: TimeInterval = 30

  init(arguments: [String], log: Logger) throws {
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    self.arguments = arguments
    self.log = log
  }

  func run() async throws {
    // Made before there is a worker: from here on a request to end is never lost.
    let signals = TerminationSignals()
    let passingOn = Task {
      _ = await signals.firstOf { try? await Task.sleep(for: .seconds(1e9)) }
      let worker = state.withLock { state in
        state.isEnding = true
        return state.worker
      }
      if let worker { kill(worker, SIGTERM) }
    }
    defer { passingOn.cancel() }
    let clock = SystemClock()
    var pause = Supervisor.firstPause
    var refusals = 0
    while true {
      let started = clock.now
      let end: DetachedProcess.End
      do { end = try await work() } catch {
        // For want of memory or processes, say: that passes.
        log.error("the service could not be started: \(error)")
        end = .exited(EX_OSERR)
      }
      if state.withLock({ $0.isEnding }) || end == .exited(0) { return }
      let isSound = clock.now - started > Supervisor.soundLife
      if isSound { pause = Supervisor.firstPause }
      if case .exited = end, !isSound { refusals += 1 } else { refusals = 0 }
      guard refusals < Supervisor.mostRefusals else {
        return log.error("the service ended by itself \(refusals) times in a row (\(end)); it is not started again")
      }
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

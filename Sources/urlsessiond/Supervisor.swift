import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import SystemServices

/// Keeps a service alive where no service manager does: starts a worker process that serves, and starts another one when
/// it crashes.
///
/// A worker that ends with status 0 has nothing left to do, and the supervisor ends too. It also ends when ten workers in
/// a row end with a failure status within 30 seconds of their start. A worker that crashes or is killed is replaced at
/// once; after several crashes in a row the pause before the next start grows. A request to end is passed on.
final class Supervisor: Service {
  private let program: String
  private let arguments: [String]
  private let log: Logger
  private let state = Mutex(State())

  private struct State {
    var worker: pid_t?
    var isEnding = false
  }

  /// A worker that lived longer than this does not count towards a series of crashes.
  private static let soundLife: TimeInterval = 30
  /// After so many failures in a row right after the start, starting again is given up.
  private static let mostRefusals = 10
  private static let firstPause: TimeInterval = 0.05
  private static let longestPause: TimeInterval = 30

  init(arguments: [String], log: Logger) throws {
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    self.arguments = arguments
    self.log = log
  }

  /// A request to end is passed on to the worker; its end is then the supervisor's.
  func run() async throws {
    await withGracefulShutdownHandler {
      await supervise()
    } onGracefulShutdown: { [self] in
      DefaultSignals.restore()
      let worker = state.withLock { state in
        state.isEnding = true
        return state.worker
      }
      if let worker { kill(worker, SIGTERM) }
    }
  }

  private func supervise() async {
    let clock = SystemClock()
    var pause = Supervisor.firstPause
    var refusals = 0
    while true {
      let started = clock.now
      let end: DetachedProcess.End
      do { end = try await work() } catch {
        // Memory or processes may be short for a while, so this counts as a failed worker.
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
      let nextPause = pause
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(nextPause)) }
      if state.withLock({ $0.isEnding }) { return }
      pause = min(pause * 2, Supervisor.longestPause)
    }
  }

  /// Starts a worker and waits for its end.
  private func work() async throws -> DetachedProcess.End {
    let worker = try DetachedProcess.start(
      program, arguments: arguments, environment: UserEnvironment.ofService(), output: STDERR_FILENO)
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

import Foundation
import Logging
import SystemServices
import TransferService

/// A worker that has lost its supervisor and goes on with the queue. No other process finds out that it hangs: the next supervisor's
/// worker asks it, and ends it where it gives no sign of life.
///
/// A service that has a supervisor is left to that one, one that was started by hand to its user, and one of the service manager to
/// the manager.
struct OrphanedWorker {
  private let process: ProgramProcess
  private let lock: String
  private let sockets: [String]

  var pid: pid_t { process.identity.pid }

  /// The one that has the queue's lock; nil when there is none, or its supervisor lives. Looks at files.
  init?(_ configuration: TransferDaemon.Configuration) {
    guard let program = ExecutedProgram()?.path else { return nil }
    let lock = TransferDaemon.lockPath(stateDirectory: configuration.stateDirectory)
    let found = ProgramProcess.all(running: program).first { process in
      guard process.identity.pid != getpid(), process.arguments.contains("--supervised") else { return false }
      guard let parent = process.identity.parent, ProgramProcess(parent, running: program) == nil else { return false }
      return process.hasLock(lock)
    }
    guard let found else { return nil }
    process = found
    self.lock = lock
    sockets = [configuration.socketPath, TransferDaemon.socketPath(stateDirectory: configuration.stateDirectory)]
  }

  /// Ends it if it hangs. Returns whether it has the queue no more.
  func endIfItHangs(log: Logger) async throws -> Bool {
    let rules = TestTimes.shorten(WorkerLiveness.Rules())
    guard try await SignOfLife.comes(from: sockets, rules: rules) else {
      guard process.end(holding: lock) else { return true }
      log.error(
        """
        the service before hangs and is ended: process \(pid) has no supervisor and did not answer within \
        \(rules.tick * Double(rules.ticksForAnswer)) s
        """)
      return true
    }
    // The end of a process ends its connections too.
    return !process.hasLock(lock)
  }
}

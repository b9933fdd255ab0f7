import Foundation
import Logging
import SystemServices
import TransferProtocol
import TransferService

/// Starts this very program again, in a session of its own: the app that started it may end, or be killed with its whole
/// process group, and the service stays. A supervisor process replaces the service when it crashes.
enum DetachedService {
  static func start(state: String, socket: String, logLevel: Logger.Level, idleExit: Double) throws {
    // The app is told of these failures: they end this process, and the app reads its last line. Those of the detached
    // service are in the log only.
    // A folder that is gone may come back; one in its place would be in the way.
    if QueueMark(socket: socket, stateFolder: state).remainingWait() != nil { throw QueueIsAway(stateFolder: state) }
    try PrivateDirectory.ensure(state)
    // Without it the service has its socket in the state folder.
    do { try PrivateDirectory.ensure((socket as NSString).deletingLastPathComponent) } catch is SystemError {}
    let path = "\(state)/\(ServiceNames.log)"
    let log = try openLog(path)
    defer { close(log) }
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    var arguments = [
      "--supervise", "--socket", socket, "--state-dir", state, "--log-level", logLevel.rawValue, "--idle-exit",
      "\(idleExit)", "--log-file", path,
    ]
    // The app learns from the end of this pipe that the service has started, or has ended before.
    let report = fcntl(STDOUT_FILENO, F_GETFD) >= 0 ? STDOUT_FILENO : nil
    if report != nil { arguments.append("--report-start") }
    // Not reaped: we end at once, and it becomes the child of init.
    _ = try DetachedProcess.start(
      program, arguments: arguments, environment: UserEnvironment.ofService(), output: log, channel: report)
  }

  /// Opens the log for appending. The service limits it while it runs.
  private static func openLog(_ path: String) throws -> Int32 {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError(errno, "open", path: path) }
    return descriptor
  }
}

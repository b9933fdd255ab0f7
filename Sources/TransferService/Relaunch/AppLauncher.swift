import Foundation
import SystemServices
import TransferProtocol

/// Starts the app that a session belongs to.
package protocol AppLaunching: Sendable {
  /// - Parameter ended: called once, on any thread, when the process has ended.
  func launch(_ executable: ExecutableIdentity, session: String, ended: @escaping @Sendable () -> Void) throws
}

/// Starts the very file that the kernel named when the app connected, without arguments; nothing that was ever in a
/// message decides what is executed.
package struct AppLauncher: AppLaunching {
  /// What only concerns the service itself.
  private static let ownVariables = [
    "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID",
    "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "URLSESSIOND_CRASH_AT", "URLSESSIOND_CRASH_MARKER",
  ]

  private let environment: [String: String]

  package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
    self.environment = environment.filter { !AppLauncher.ownVariables.contains($0.key) }
  }

  package func launch(_ executable: ExecutableIdentity, session: String, ended: @escaping @Sendable () -> Void) throws {
    try executable.checkUnchanged()
    var environment = self.environment
    environment[ServiceNames.launchSessionVariable] = session
    let pid = try DetachedProcess.start(executable.path, arguments: [], environment: environment)
    DetachedProcess.whenEnded(pid) { _ in ended() }
  }
}

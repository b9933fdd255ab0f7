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
  /// Variables that name the user, the places of the system and the user's file of secrets. All others stay here: another app may have started the
  /// service, and its environment can hold secrets.
  private static let variables: Set = [
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", ServiceNames.socketVariable,
    "URLSESSIOND_PATH", FileSecretStore.variable,
  ]
  private static let families = ["LC_", "XDG_"]

  private let environment: [String: String]

  package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
    self.environment = environment.filter { variable in
      AppLauncher.variables.contains(variable.key) || AppLauncher.families.contains { variable.key.hasPrefix($0) }
    }
  }

  package func launch(_ executable: ExecutableIdentity, session: String, ended: @escaping @Sendable () -> Void) throws {
    try executable.checkUnchanged()
    var environment = self.environment
    environment[ServiceNames.launchSessionVariable] = session
    // The output of the app goes nowhere: it does not belong into the log of the service.
    let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard output >= 0 else { throw SystemError(errno, "open", path: "/dev/null") }
    defer { close(output) }
    let pid = try DetachedProcess.start(executable.path, arguments: [], environment: environment, output: output)
    DetachedProcess.whenEnded(pid) { _ in ended() }
  }
}

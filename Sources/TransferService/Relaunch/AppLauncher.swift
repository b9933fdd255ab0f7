import Foundation
import SystemServices
import TransferProtocol

/// Starts the app that a session belongs to. Blocks as long as the file system of its program does.
package protocol AppLaunching: Sendable {
  /// - Parameters:
  ///   - environment: the variables that the app has recorded with its session; nil when it recorded none.
  ///   - isAwaited: asked when nothing but the start itself is left to do. Where it says no, nothing is started.
  ///   - ended: called once, on any thread, when the process has ended.
  /// - Throws: `CancellationError` where it is not awaited any more.
  func launch(
    _ executable: ExecutableIdentity, session: String, environment: [String: String]?, isAwaited: () -> Bool,
    ended: @escaping @Sendable () -> Void) throws
}

/// Starts the very file that the kernel named when the app connected, without arguments. Of what was in messages only
/// variables reach it, and none that names code to load.
package struct AppLauncher: AppLaunching {
  private let ownEnvironment: [String: String]

  /// - Parameter environment: of the service. It leads an app that has recorded nothing to the user's session.
  package init(environment: [String: String] = ProcessInfo.processInfo.environment) { ownEnvironment = environment }

  package func launch(
    _ executable: ExecutableIdentity, session: String, environment: [String: String]?, isAwaited: () -> Bool,
    ended: @escaping @Sendable () -> Void
  ) throws {
    try executable.checkUnchanged()
    guard isAwaited() else { throw CancellationError() }
    // Another app may have started the service, so nothing else of its environment is passed on.
    var variables = environment.map { UserEnvironment.ofApp($0) } ?? UserEnvironment.clean(ownEnvironment)
    variables[ServiceNames.launchSessionVariable] = session
    // The output of the app goes nowhere: it does not belong into the log of the service.
    let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard output >= 0 else { throw SystemError(errno, "open", path: "/dev/null") }
    defer { close(output) }
    let pid = try DetachedProcess.start(executable.path, arguments: [], environment: variables, output: output)
    ProcessLimits.reset(for: pid)
    DetachedProcess.whenEnded(pid) { _ in ended() }
  }
}

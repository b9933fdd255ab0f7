import Foundation

/// Waits that a test shortens. Debug builds only: the environment variables `URLSESSIOND_LAUNCH_WAIT` (the pause between
/// the first start of an app and the second), `URLSESSIOND_LAUNCH_GRACE` (the time that apps have to come back after the
/// service has started), `URLSESSIOND_IDLE_EXIT` and `URLSESSIOND_ANSWER_WAIT` (the supervisor's tick) hold seconds.
package enum TestTimes {
  static func shorten(
    _ settings: TransferEngine.Settings, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> TransferEngine.Settings {
    #if DEBUG
    func seconds(_ name: String) -> TimeInterval? { environment[name].flatMap { TimeInterval($0) } }
    var settings = settings
    if let wait = seconds("URLSESSIOND_LAUNCH_WAIT") { settings.launches.firstWait = wait }
    if let grace = seconds("URLSESSIOND_LAUNCH_GRACE") { settings.launchGrace = grace }
    if let patience = seconds("URLSESSIOND_IDLE_EXIT") { settings.idleExit = patience }
    #endif
    return settings
  }

  package static func shorten(
    _ rules: WorkerLiveness.Rules, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> WorkerLiveness.Rules {
    var rules = rules
    #if DEBUG
    if let tick = environment["URLSESSIOND_ANSWER_WAIT"].flatMap({ TimeInterval($0) }) { rules.tick = tick }
    #endif
    return rules
  }
}

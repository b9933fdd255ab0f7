import Foundation

/// A scope of the user's service manager (systemd.scope(5)) for a service that an app has started, so that it does not end
/// with the unit of the app.
package enum ServiceScope {
  /// Whether the unit of a process ends together with its app: it is one of the user's service manager. The scope of a
  /// login is not, so a service stays there.
  ///
  /// - Parameter cgroup: the content of `/proc/PID/cgroup`.
  package static func isNeeded(cgroup: String) -> Bool {
    guard let line = cgroup.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return false }
    let units = line.dropFirst("0::/".count).split(separator: "/")
    guard let manager = units.firstIndex(where: { $0.hasPrefix("user@") && $0.hasSuffix(".service") }),
      let unit = units.last, units.count > manager + 1
    else { return false }
    return !unit.hasPrefix("urlsessiond")
  }

  /// Those of busctl(1) for the request to make a scope and move the process there.
  package static func arguments(pid: pid_t) -> [String] {
    let manager = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"]
    return ["--user", "--quiet", "--timeout=8", "call"] + manager + [
      "StartTransientUnit", "ssa(sv)a(sa(sv))", "urlsessiond-\(pid).scope", "fail",
      "3", "Description", "s", "Background transfers of apps", "PIDs", "au", "1", "\(pid)",
      "CollectMode", "s", "inactive-or-failed", "0",
    ]
  }

  /// Moves this process to a scope of its own where it needs one and there is a service manager. Else nothing changes.
  ///
  /// - Returns: why it could not be moved; nil when it was, or has no need.
  package static func enter(
    environment: [String: String] = ProcessInfo.processInfo.environment, busctl: String = "/usr/bin/busctl"
  ) async -> String? {
    guard isNeededNow, access(busctl, X_OK) == 0 else { return nil }
    do {
      let pid = try DetachedProcess.start(busctl, arguments: arguments(pid: getpid()), environment: environment)
      let end = await withCheckedContinuation { continuation in
        DetachedProcess.whenEnded(pid) { continuation.resume(returning: $0) }
      }
      guard end == .exited(0) else { return "busctl ended with \(end)" }
      // The manager answers before it moves the process. What that starts until then would stay behind.
      let clock = ContinuousClock()
      let deadline = clock.now + patience
      while isNeededNow {
        guard clock.now < deadline else { return "the manager has not moved it within \(patience)" }
        try await Pause.wait(.milliseconds(5))
      }
      return nil
    } catch { return "\(error)" }
  }

  private static let patience = Duration.seconds(5)

  private static var isNeededNow: Bool {
    (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)).map { isNeeded(cgroup: $0) } ?? false
  }
}

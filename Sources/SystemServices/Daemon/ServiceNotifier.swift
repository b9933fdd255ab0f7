import Foundation

/// Tells the service manager how we are: sd_notify(3), one datagram a message to the socket in `NOTIFY_SOCKET`.
/// Without that variable nothing is sent.
package struct ServiceNotifier: Sendable {
  private let path: String?
  /// How often `watchdog` is expected at the latest, in seconds; nil when the service manager asks for none.
  package let watchdogInterval: TimeInterval?

  /// Reads the variables and removes them, so that no child process uses them.
  package static func takingEnvironment() -> ServiceNotifier {
    let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, pid: getpid())
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
    return notifier
  }

  package init(environment: [String: String], pid: pid_t = getpid()) {
    // The address is a path, or a name in the abstract namespace that starts with @.
    path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let forUs = environment["WATCHDOG_PID"].map { pid_t($0) == pid } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
    watchdogInterval = path != nil && forUs && microseconds > 0 ? Double(microseconds) / 1e6 : nil
  }

  package func ready() { send("READY=1") }
  package func stopping() { send("STOPPING=1") }
  package func watchdog() { send("WATCHDOG=1") }
  /// A line that `systemctl status` shows.
  package func status(_ text: String) {
    send("STATUS=" + text.replacingOccurrences(of: "\n", with: " "))
  }

  /// Whether the manager's socket took the message.
  @discardableResult
  package func send(_ message: String) -> Bool {
    guard let path, let address = UnixAddress(path) else { return false }
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { _ = close(socket) }
    let bytes = Array(message.utf8)
    let sent = address.withPointer { sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
    return sent == bytes.count
  }
}

import ChildProcess
import Foundation
import LoopbackServer
import RealServers

/// systemd as the service manager of a home, in a control group and a mount namespace of its own, with the units of
/// `Packaging` and none of the machine's user.
///
/// The control group and everything in it end with `stop()`.
final class UserManager: Sendable {
  /// Why no manager can be started here; nil where one can. No package would change it, so tests are skipped for it also in
  /// continuous integration.
  static let obstacle: String? = {
    guard let program = program, FileManager.default.isExecutableFile(atPath: systemctl) else {
      return "systemd is not installed"
    }
    let run = try? Namespaces.runNow(command("probe-\(UUID().uuidString.prefix(8))", "/dev/null", "/bin/true"))
    guard let run, run.status == 0 else {
      let reason = run?.errors.trimmingCharacters(in: .whitespacesAndNewlines) ?? "no shell"
      return "\(program) can't get a control group of its own here: \(reason)"
    }
    return nil
  }()

  static let systemctl = "/usr/bin/systemctl"
  static let analyze = "/usr/bin/systemd-analyze"
  private static let program = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Takes the group's name, a file for its path, and the program. At the program's end it kills what is left in the group,
  /// and removes it.
  private static let script = """
    root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -n "$root" ] || { echo "no cgroup2 is mounted" >&2; exit 1; }
    group="$root${own%/}/$1"
    mkdir "$group" || exit 1
    echo "$group" >"$2"
    shift 2
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \\
      unshare --mount --cgroup $UNSHARE sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh "$@"
    status=$?
    echo 1 >"$group/cgroup.kill"
    while ! find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && [ -d "$group" ]; do :; done
    exit $status
    """

  private static func command(_ group: String, _ file: String, _ program: String...) -> [String] {
    // Only a user other than root needs a user namespace; in one, files of root would look like those of no user.
    let map = geteuid() == 0 ? "" : "--map-root-user"
    return ["/usr/bin/env", "UNSHARE=\(map)", "/bin/sh", "-c", script, "sh", group, file] + program
  }

  private let home: Home
  private let process = ChildProcess()
  private let ended = Gate()

  /// - Parameter settings: of the service's unit, in addition to its own.
  init(_ home: Home, settings: String = "") async throws {
    self.home = home
    let units = home.path + "/units"
    try Self.writeUnits(to: units, prefix: home.path + "/prefix", settings: settings)
    guard let program = Self.program else { throw CocoaError(.fileNoSuchFile) }
    let words = Self.command("e2e-\(UUID().uuidString.prefix(8))", home.path + "/group", program, "--user")
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = home.environment.merging(
      ["SYSTEMD_UNIT_PATH": units, "SYSTEMD_LOG_TARGET": "console"]
    ) { $1 }
    process.standardInput = FileHandle.nullDevice
    let log = home.path + "/app/manager.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let file = FileHandle(forWritingAtPath: log)
    process.standardOutput = file
    process.standardError = file
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
    try await eventually("the service manager") {
      try await tell("is-system-running").output.hasPrefix("running")
    }
  }

  /// The units as they are installed, the service with its program, and the targets of systemd that they name.
  static func writeUnits(to folder: String, prefix: String, settings: String = "") throws {
    let files = FileManager.default
    try files.createDirectory(atPath: prefix + "/bin", withIntermediateDirectories: true)
    try files.createSymbolicLink(
      atPath: prefix + "/bin/urlsessiond", withDestinationPath: Programs.path("urlsessiond"))
    let drops = folder + "/urlsessiond.service.d"
    try files.createDirectory(atPath: drops, withIntermediateDirectories: true)
    let own = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../../Packaging/systemd/"
    for name in ["urlsessiond.service", "urlsessiond.socket"] {
      let text = try String(contentsOfFile: own + name, encoding: .utf8)
      try text.replacing("@PREFIX@", with: prefix)
        .write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }
    if !settings.isEmpty {
      try "[Service]\n\(settings)\n".write(toFile: drops + "/test.conf", atomically: false, encoding: .utf8)
    }
    for name in ["default", "basic", "sockets", "timers", "paths", "shutdown", "exit"] {
      let unit = "/usr/lib/systemd/user/\(name).target"
      try? files.createSymbolicLink(atPath: "\(folder)/\(name).target", withDestinationPath: unit)
    }
    try? files.createSymbolicLink(
      atPath: folder + "/systemd-exit.service", withDestinationPath: "/usr/lib/systemd/user/systemd-exit.service")
  }

  /// Runs `systemctl --user`.
  @discardableResult
  func tell(_ words: String...) async throws -> ProgramRun {
    // That of the person who runs the tests is another manager's.
    let environment = home.environment.merging(["DBUS_SESSION_BUS_ADDRESS": ""]) { $1 }
    return try await ProgramRun.run(Self.systemctl, ["--user"] + words, environment: environment)
  }

  /// A property of the service's unit, as `systemctl show` prints it.
  func property(_ name: String) async throws -> String {
    try await tell("show", "urlsessiond.service", "--value", "--property", name).output
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The service's process once the unit is active; another one than `old`.
  func service(otherThan old: pid_t? = nil) async throws -> pid_t {
    var found: pid_t?
    try await eventually("the service's unit to be active") {
      guard try await property("ActiveState") == "active" else { return false }
      found = pid_t(try await property("MainPID")).flatMap { $0 > 0 && $0 != old ? $0 : nil }
      return found != nil
    }
    return found ?? 0
  }

  /// Ends the manager and all that it has started.
  func stop() async throws {
    try await tell("exit")
    try await ended.wait(within: patience)
  }
}

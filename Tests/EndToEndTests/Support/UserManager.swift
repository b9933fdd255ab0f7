import ChildProcess
import Foundation
import LoopbackServer
import RealServers

/// systemd as the service manager of a home, in a control group and a mount namespace of its own, with the units of
/// `Packaging` and none of the machine's user.
///
/// The control group and everything in it end with `stop()`.
final class UserManager: Sendable {
  /// Why no manager comes up here; nil where one does. No package would change it, so tests are skipped for it also in
  /// continuous integration.
  static let obstacle: String? = {
    guard let program = program, FileManager.default.isExecutableFile(atPath: systemctl) else {
      return "systemd is not installed"
    }
    let folder = NSTemporaryDirectory() + "manager-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // A manager whose first target is its end, which is status 0.
    let words = command(
      "probe-\(UUID().uuidString.prefix(8))", group: "/dev/null", log: folder + "/log",
      ["XDG_RUNTIME_DIR=\(folder)", "SYSTEMD_UNIT_PATH=/usr/lib/systemd/user"],
      [program, "--user", "--unit=exit.target"])
    let files = FileManager.default
    guard (try? files.createDirectory(atPath: folder, withIntermediateDirectories: true)) != nil,
      files.createFile(atPath: folder + "/log", contents: nil), let run = try? Namespaces.runNow(words)
    else { return "\(program) can't be tried in \(folder)" }
    guard run.status != 0 else { return nil }
    let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
    let reason = (run.errors + log).trimmingCharacters(in: .whitespacesAndNewlines)
    return "\(program) can't run in a control group of its own here: \(reason)"
  }()

  /// Why no app can run in a unit of its own with a message bus beside it; nil where one can.
  static let obstacleToApps: String? = [messageBus, busctl, systemdRun]
    .first { !FileManager.default.isExecutableFile(atPath: $0) }.map { "\($0) is not installed" }

  private static let messageBus = "/usr/bin/dbus-daemon"
  private static let busctl = "/usr/bin/busctl"
  private static let systemdRun = "/usr/bin/systemd-run"

  static let systemctl = "/usr/bin/systemctl"
  static let analyze = "/usr/bin/systemd-analyze"
  private static let program = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Takes the group's name, a file for its path, a file for what the manager writes to the console, and the program. At the
  /// program's end it kills what is left in the group, and removes it.
  private static let script = """
    root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -n "$root" ] || { echo "no cgroup2 is mounted" >&2; exit 1; }
    group="$root${own%/}/$1"
    mkdir "$group" || exit 1
    echo "$group" >"$2"
    log=$3
    shift 3
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \\
      unshare --mount --cgroup $UNSHARE sh -c "$PLACE" "$log" "$@"
    status=$?
    echo 1 >"$group/cgroup.kill"
    for try in $(seq 200); do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
      [ -d "$group" ] || break
      sleep 0.05
    done
    exit $status
    """

  /// Gives the program the group as its root, one in it with the name that a user's manager has, its log as the console, and,
  /// where the machine was not started by systemd, the folder without which a manager of a user refuses to run.
  private static let place = """
    mount -t cgroup2 none /sys/fs/cgroup || exit 1
    own="/sys/fs/cgroup/user@$(id -u).service"
    mkdir "$own" && echo $$ >"$own/cgroup.procs" || exit 1
    [ ! -e /dev/console ] || mount --bind "$0" /dev/console || exit 1
    [ -d /run/systemd/system ] || { mount -t tmpfs none /run && mkdir -p /run/systemd/system; } || exit 1
    exec "$@"
    """

  private static func command(
    _ name: String, group: String, log: String, _ environment: [String], _ program: [String]
  ) -> [String] {
    // Only a user other than root needs a user namespace; in one, files of root would look like those of no user.
    let map = geteuid() == 0 ? "" : "--map-root-user"
    return ["/usr/bin/env", "UNSHARE=\(map)", "PLACE=\(place)", "SYSTEMD_LOG_TARGET=console"] + environment
      + ["/bin/sh", "-c", script, "sh", name, group, log] + program
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
    let log = home.path + "/app/manager.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let words = Self.command(
      "e2e-\(UUID().uuidString.prefix(8))", group: home.path + "/group", log: log, ["SYSTEMD_UNIT_PATH=\(units)"],
      [program, "--user"])
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = home.environment
    process.standardInput = FileHandle.nullDevice
    let file = FileHandle(forWritingAtPath: log)
    process.standardOutput = file
    process.standardError = file
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
    do {
      try await awaitStart()
    } catch {
      killAll()
      try? await ended.wait(within: patience)
      throw error
    }
  }

  private struct NotRunning: Error, CustomStringConvertible {
    let state: String
    let log: String
    var description: String { "the service manager did not come up: \(state)\n\(log)" }
  }

  /// Waits until the manager is idle with all units well.
  private func awaitStart() async throws {
    var state = ""
    do {
      try await eventually("the service manager") {
        // `is-system-running` would look at the machine, which systemd need not have started.
        let run = try await tell("show", "--value", "--property", "SystemState")
        state = (run.output + run.errors).trimmingCharacters(in: .whitespacesAndNewlines)
        if !process.isRunning { throw NotRunning(state: "it ended with \(process.terminationStatus)", log: "") }
        return state == "running"
      }
    } catch {
      let log = try? String(contentsOfFile: home.path + "/app/manager.log", encoding: .utf8)
      throw NotRunning(state: "\(state), \(error)", log: log ?? "no log")
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

  /// Starts the message bus of the user, and waits until the manager can be reached there.
  func startMessageBus() async throws {
    // The units of the distribution, which another package has than the program.
    try "[Socket]\nListenStream=%t/bus\n"
      .write(toFile: home.path + "/units/dbus.socket", atomically: false, encoding: .utf8)
    try """
    [Unit]
    Requires=dbus.socket
    After=dbus.socket
    [Service]
    Type=notify
    ExecStart=\(Self.messageBus) --session --address=systemd: --nofork --nopidfile
    """.write(toFile: home.path + "/units/dbus.service", atomically: false, encoding: .utf8)
    try await tell("daemon-reload")
    try await tell("start", "dbus.service")
    // An address, since the bus of the person who runs the tests is another one.
    let bus = ["--address=unix:path=\(home.path)/run/bus", "--auto-start=no", "status", "org.freedesktop.systemd1"]
    try await eventually("the manager on the message bus") { try await ProgramRun.run(Self.busctl, bus).status == 0 }
  }

  /// A command that runs a program, in the same process, in a unit of the manager as a desktop does it with an app.
  static func unit(_ name: String) -> [String] { [systemdRun, "--user", "--scope", "--quiet", "--unit", name] }

  /// Runs `systemctl --user`.
  @discardableResult
  func tell(_ words: String...) async throws -> ProgramRun {
    // The bus of the person who runs the tests is another manager's. On a machine that systemd did not start, `enable` looks
    // for the units itself.
    let environment = home.environment.merging(
      ["DBUS_SESSION_BUS_ADDRESS": "", "SYSTEMD_UNIT_PATH": home.path + "/units"]
    ) { $1 }
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
    do {
      try await tell("exit")
      try await ended.wait(within: patience)
    } catch {
      killAll()
      throw error
    }
  }

  private func killAll() {
    let group = try? String(contentsOfFile: home.path + "/group", encoding: .utf8)
    guard let group = group?.trimmingCharacters(in: .newlines), !group.isEmpty else { return process.terminate() }
    let file = FileHandle(forWritingAtPath: group + "/cgroup.kill")
    try? file?.write(contentsOf: Data("1".utf8))
  }
}

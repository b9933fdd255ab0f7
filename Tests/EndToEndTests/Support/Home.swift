import ChildProcess
import Foundation
import LoopbackServer
import Testing
import TransferScript

/// A user's world of its own for one test: folders for everything that the service and its apps read from the
/// environment. What runs is known by having these folders in its environment.
final class Home: Sendable {
  /// Short: the path of a Unix socket has 107 bytes.
  let path: String
  let environment: [String: String]

  private init(variables: [String: String]) throws {
    path = "/tmp/e2e-\(UUID().uuidString.prefix(8))"
    for name in ["", "/state", "/cache", "/run", "/app"] {
      try FileManager.default.createDirectory(
        atPath: path + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    environment = [
      "PATH": "/usr/bin:/bin", "HOME": path, "TMPDIR": path, "LANG": "C.UTF-8", "TZ": "UTC",
      "XDG_STATE_HOME": path + "/state", "XDG_CACHE_HOME": path + "/cache", "XDG_RUNTIME_DIR": path + "/run",
      "URLSESSIOND_PATH": Programs.path("urlsessiond"), AppFolder.variable: path + "/app",
      // The services of the machine that runs the tests say nothing: its power and its load are not the test's.
      "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)/no-bus",
      // A second start of an app, where a test has one, is not waited for as long as a user's app would be.
      "URLSESSIOND_LAUNCH_WAIT": "1",
    ]
    .merging(ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }) { $1 }
    .merging(variables) { $1 }
  }

  /// Runs a test in a home of its own; then asks the service to end, and records an issue when a process or a file of a
  /// transfer is left. What fails brings its logs along.
  static func run(_ variables: [String: String] = [:], _ test: (Home) async throws -> Void) async throws {
    let home = try Home(variables: variables)
    defer { home.remove() }
    do {
      try await test(home)
      try await home.endAll()
    } catch {
      Issue.record(error, "\(home.report())")
    }
  }

  // MARK: Folders

  var stateFolder: String { path + "/state/urlsessiond" }

  func app(_ program: String = "transfer-app") -> AppFolder { AppFolder(folder: path + "/app", program: program) }

  func write(_ plan: AppPlan, program: String = "transfer-app") throws {
    try JSONEncoder().encode(plan).write(to: URL(fileURLWithPath: app(program).plan))
  }

  func plan(program: String = "transfer-app", _ change: (inout AppPlan) -> Void) throws {
    var plan = AppPlan()
    change(&plan)
    try write(plan, program: program)
  }

  /// Ends the waits that a plan has.
  func go(program: String = "transfer-app") throws { try Data().write(to: URL(fileURLWithPath: app(program).go)) }

  /// The files that the service has for transfers, which must all be gone once everything was taken.
  func transferFiles() -> [String] {
    ["partial", "complete", "delivery", "uploads"].flatMap { folder in
      let names = try? FileManager.default.contentsOfDirectory(atPath: "\(stateFolder)/\(folder)")
      return (names ?? []).map { "\(folder)/\($0)" }
    }
  }

  /// How large the files are that the service is filling.
  func partialSize() -> Int64 {
    let folder = stateFolder + "/partial"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).reduce(0) { sum, name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
      return sum + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
    }
  }

  /// A second program that does the same as `transfer-app`, and is another app to the service.
  func makeProgram(_ name: String) throws -> String {
    let target = "\(path)/\(name)"
    if link(Programs.path("transfer-app"), target) != 0 {
      try ProgramFile.copy(Programs.path("transfer-app"), to: target)
    }
    return target
  }

  // MARK: Ending

  /// Every process of this home; none of them is our own.
  func processes() -> [HomeProcess] { HomeProcess.all(marked: "XDG_RUNTIME_DIR=\(path)/run") }

  /// Asks apps and service to end and waits until they have.
  private func endAll() async throws {
    // Services each once, since a second signal ends one on the spot. An app may just have started another service, and a service
    // an app.
    var asked: Set<pid_t> = []
    try await eventually("the end of every process") {
      let present = processes()
      for process in present where process.program != "urlsessiond" { kill(process.pid, SIGKILL) }
      for process in present where process.role != .other && asked.insert(process.pid).inserted {
        kill(process.pid, SIGTERM)
      }
      return present.isEmpty
    }
  }

  private func remove() {
    for process in processes() { kill(process.pid, SIGKILL) }
    try? FileManager.default.removeItem(atPath: path)
  }

  private func report() -> String {
    func tail(_ file: String) -> String {
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? "(none)"
      return text.split(separator: "\n").suffix(60).joined(separator: "\n")
    }
    let logs = ((try? FileManager.default.contentsOfDirectory(atPath: path + "/app")) ?? [])
      .filter { $0.hasSuffix(".log") }.map { "\($0):\n\(tail("\(path)/app/\($0)"))" }
    return """
      processes: \(processes())
      files: \(transferFiles())
      service:
      \(tail(stateFolder + "/urlsessiond.log"))
      \(logs.joined(separator: "\n"))
      """
  }
}

/// The programs that are built beside the tests.
enum Programs {
  static func path(_ name: String) -> String { BuiltProgram.path(name) }
}

import ChildProcess
import Foundation
import LoopbackServer
import Testing

/// A home of its own for the programs of one test: folders for everything that they read from the environment. What
/// still runs in it is ended, and everything removed, with the value that names it.
final class Sandbox: Sendable {
  let home = TemporaryFolder()
  /// Where the programs run.
  let work: String

  init() throws {
    work = home.path + "/work"
    for name in ["work", "tmp", "state", "cache", "run"] {
      try FileManager.default.createDirectory(
        atPath: "\(home.path)/\(name)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
  }

  deinit { endPrograms() }

  /// The folder of the test's own executable, where the programs were built, too.
  private static let built: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    var folder = (own as NSString).deletingLastPathComponent
    // A helper of the toolchain's may be what runs; then the first argument that is in a build folder tells.
    if !FileManager.default.isExecutableFile(atPath: folder + "/urlsession") {
      folder =
        CommandLine.arguments.map { ($0 as NSString).deletingLastPathComponent }
        .first { FileManager.default.isExecutableFile(atPath: $0 + "/urlsession") } ?? folder
    }
    return folder
  }()

  static func program(_ name: String) -> String { "\(built)/\(name)" }

  var environment: [String: String] {
    [
      "PATH": "/usr/bin:/bin", "HOME": home.path, "TMPDIR": home.path + "/tmp", "LANG": "C.UTF-8", "TZ": "UTC",
      "XDG_STATE_HOME": home.path + "/state", "XDG_CACHE_HOME": home.path + "/cache",
      "XDG_RUNTIME_DIR": home.path + "/run", "URLSESSIOND_PATH": Sandbox.program("urlsessiond"),
    ].merging(ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }) { $1 }
  }

  /// Names in the folder where the programs run.
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: work)) ?? []).sorted() }

  func content(_ name: String) -> Data? { FileManager.default.contents(atPath: "\(work)/\(name)") }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(work)/\(name)"))
  }

  /// Runs `urlsession` to its end.
  ///
  /// - Parameter variables: What its environment has besides.
  func run(
    _ arguments: String..., input: String? = nil, variables: [String: String] = [:]
  ) async throws -> Ended {
    try await start(arguments, input: input, variables: variables).ended()
  }

  /// - Parameter controls: Whether the terminal is the program's `/dev/tty`.
  func start(
    _ arguments: [String], input: String? = nil, variables: [String: String] = [:], terminal: Terminal? = nil,
    controls: Bool = false
  ) throws -> RunningProgram {
    try RunningProgram(
      Sandbox.program("urlsession"), arguments: arguments,
      environment: environment.merging(variables) { $1 }, folder: work,
      files: "\(home.path)/tmp/\(UUID().uuidString)", input: input, terminal: terminal, controls: controls)
  }

  /// Runs a copy of `urlsession` at another place, which is another app to the transfer service.
  func runOtherApp(_ arguments: String...) async throws -> Ended {
    let program = otherApp
    if !FileManager.default.fileExists(atPath: program) {
      try ProgramFile.copy(Sandbox.program("urlsession"), to: program)
    }
    return try await RunningProgram(
      program, arguments: arguments, environment: environment, folder: work,
      files: "\(home.path)/tmp/\(UUID().uuidString)", input: nil
    ).ended()
  }

  var otherApp: String { home.path + "/tmp/other-app" }

  /// Starts `urlsession` with a terminal as its input and its output.
  func startInTerminal(_ arguments: [String], _ terminal: Terminal) throws -> RunningProgram {
    try RunningProgram(
      Sandbox.program("urlsession"), arguments: arguments, environment: environment, folder: work,
      files: "\(home.path)/tmp/\(UUID().uuidString)", input: nil, terminal: terminal, fillsTerminal: true)
  }

  /// The files of the sandbox that have one of the texts in them.
  func files(containing texts: [String]) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: home.path).filter { name in
      let bytes = FileManager.default.contents(atPath: home.path + "/" + name) ?? Data()
      return texts.contains { bytes.range(of: Data($0.utf8)) != nil }
    }
  }

  /// Kills what runs with this sandbox in its environment: a service and what it started.
  func endPrograms() {
    let mark = Data("XDG_RUNTIME_DIR=\(home.path)/run".utf8)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let pid = pid_t(name), pid != getpid(),
        let variables = try? FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(name)/environ")).readToEnd(),
        variables.range(of: mark) != nil
      else { continue }
      kill(pid, SIGKILL)
    }
  }
}

/// What a program printed and how it ended.
struct Ended: Sendable {
  let status: Int32
  let output: Data
  let errors: String

  var text: String { String(decoding: output, as: UTF8.self) }
  var lines: [String] { text.split(separator: "\n").map(String.init) }

  func json() throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
  }
}

/// A program that runs, its output going to files.
final class RunningProgram: @unchecked Sendable {
  // Sendable by hand: the process is started in `init` and after that only signalled and waited for.
  private let process = ChildProcess()
  private let ended = Gate()
  private let files: String

  init(
    _ program: String, arguments: [String], environment: [String: String], folder: String, files: String,
    input: String?, terminal: Terminal? = nil, controls: Bool = false, fillsTerminal: Bool = false
  ) throws {
    self.files = files
    for suffix in [".out", ".err"] { try Data().write(to: URL(fileURLWithPath: files + suffix)) }
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = environment
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    if let input {
      try Data(input.utf8).write(to: URL(fileURLWithPath: files + ".in"))
      process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: files + ".in"))
    } else {
      process.standardInput = FileHandle.nullDevice
    }
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: files + ".out"))
    process.standardError = try terminal?.screen ?? FileHandle(forWritingTo: URL(fileURLWithPath: files + ".err"))
    if fillsTerminal, let screen = terminal?.screen {
      process.standardInput = screen
      process.standardOutput = screen
      process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: files + ".err"))
    }
    if controls { process.controllingTerminal = terminal?.path }
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
  }

  var pid: pid_t { process.processIdentifier }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  var outputSoFar: Data { FileManager.default.contents(atPath: files + ".out") ?? Data() }

  var errorsSoFar: String {
    String(decoding: FileManager.default.contents(atPath: files + ".err") ?? Data(), as: UTF8.self)
  }

  /// Waits for the end; what does not end in time is killed.
  func ended() async throws -> Ended {
    do { try await ended.wait(within: patience) } catch {
      kill(process.processIdentifier, SIGKILL)
      throw ProgramHangs(arguments: process.arguments, errors: errorsSoFar)
    }
    return Ended(
      status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
      output: FileManager.default.contents(atPath: files + ".out") ?? Data(), errors: errorsSoFar)
  }
}

struct ProgramHangs: Error { let arguments: [String], errors: String }

import Foundation
import Harness
import Synchronization

/// A user's world of its own: the folders in which the service and its apps find their files and each other.
struct ServiceHome {
  /// Where the queue and the files are, on the disk that is measured.
  let folder: String
  /// Short: the path of a socket has 107 bytes.
  private let runtime: String
  private let programs: String
  /// The one of this process.
  private static let present = Mutex<ServiceHome?>(nil)

  var socket: String { runtime + "/urlsessiond/socket" }
  var downloads: String { folder + "/downloads" }

  /// Makes the folders, and has this process and those that it starts use them.
  init(_ assignment: Assignment) throws {
    folder = assignment.directory.path + "/service-\(getpid())"
    runtime = "/tmp/bench-\(UUID().uuidString.prefix(8))"
    programs = assignment.programs
    for path in ["", "/state", "/cache", "/downloads"] {
      try FileManager.default.createDirectory(atPath: folder + path, withIntermediateDirectories: true)
    }
    try FileManager.default.createDirectory(
      atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let variables = [
      "HOME": folder, "XDG_STATE_HOME": folder + "/state", "XDG_CACHE_HOME": folder + "/cache",
      "XDG_DATA_HOME": folder + "/data", "XDG_CONFIG_HOME": folder + "/config", "XDG_RUNTIME_DIR": runtime,
      "URLSESSIOND_PATH": program("urlsessiond"),
      // The power and the load of the machine are not what is measured.
      "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(runtime)/no-bus",
      "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(runtime)/no-bus",
    ]
    for (name, value) in variables { setenv(name, value, 1) }
    let home = self
    Self.present.withLock { $0 = home }
    // A failure ends the process where it happens.
    atexit { ServiceHome.present.withLock { $0 }?.remove() }
  }

  func program(_ name: String) -> String { "\(programs)/\(name)" }

  /// Ends the services that still run here, also one that the library has started, and removes the folders.
  func remove() {
    endServices()
    try? FileManager.default.removeItem(atPath: folder)
    try? FileManager.default.removeItem(atPath: runtime)
  }

  /// Asks each service to end and waits until it has. A supervisor ends its worker.
  private func endServices() {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(30)
    var asked: Set<pid_t> = []
    while true {
      let services = ProcessFigures.all(marked: "XDG_RUNTIME_DIR=\(runtime)").filter { $0.name == "urlsessiond" }
      guard !services.isEmpty else { return }
      for service in services where asked.insert(service.pid).inserted { kill(service.pid, SIGTERM) }
      // One that hangs would otherwise keep the program for ever.
      if clock.now >= deadline { for service in services { kill(service.pid, SIGKILL) } }
      usleep(20_000)
    }
  }

  /// Starts the service as a child of this process.
  func startService() throws -> RunningProgram {
    try RunningProgram(
      program("urlsessiond"), ["--foreground", "--log-level", "warning"], log: folder + "/service.log")
  }

  /// Starts it as the library does, with a supervisor.
  func startDetachedService() throws {
    try RunningProgram(program("urlsessiond"), ["--spawn-detached", "--idle-exit", "0"]).waitForSuccess()
  }

  /// Starts the service, and gives the time from then to its first answer.
  func startServing() throws -> (service: RunningProgram, time: Duration) {
    let clock = ContinuousClock()
    let start = clock.now
    let service = try startService()
    waitForAnswer(of: service)
    return (service, clock.now - start)
  }

  /// Asks the service for its version until it answers.
  func waitForAnswer(of service: RunningProgram? = nil) {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(60)
    while !isAnswered() {
      guard clock.now < deadline, service?.isRunning != false else { fail("the service does not answer") }
      usleep(500)
    }
  }

  /// The length of the request, and the request, which needs no greeting before it.
  private static let question = Array(#"....{"id":1,"request":"version"}"#.utf8)

  private func isAnswered() -> Bool {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8.prefix(107)) }
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else { return false }
    var question = Self.question
    question.replaceSubrange(0..<4, with: [0, 0, 0, UInt8(question.count - 4)])
    guard write(descriptor, question, question.count) == question.count else { return false }
    var answer = [UInt8](repeating: 0, count: 16)
    return read(descriptor, &answer, answer.count) > 4
  }
}

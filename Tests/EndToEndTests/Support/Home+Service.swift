import ChildProcess
import Foundation
import LoopbackServer
import Testing

extension Home {
  /// All that the service has written to its log.
  var serviceLog: String { (try? String(contentsOfFile: stateFolder + "/urlsessiond.log", encoding: .utf8)) ?? "" }

  /// The process that serves; waits for there to be one.
  @discardableResult
  func service(otherThan pid: pid_t? = nil) async throws -> pid_t {
    var found: pid_t?
    try await eventually("a service that serves") {
      found = processes().first { $0.role == .service && $0.pid != pid }?.pid
      return found != nil
    }
    return try #require(found)
  }

  /// Kills the process that serves. What watches over it starts another one.
  @discardableResult
  func killService() async throws -> pid_t {
    let pid = try await service()
    kill(pid, SIGKILL)
    try await eventually("the end of process \(pid)") { !processes().contains { $0.pid == pid } }
    return pid
  }

  /// Kills what watches over the process that serves, and leaves that one alone.
  func killSupervisor() async throws {
    let pid = try #require(processes().first { $0.role == .supervisor }?.pid)
    kill(pid, SIGKILL)
    try await eventually("the end of process \(pid)") { !processes().contains { $0.pid == pid } }
  }

  /// Starts a service as an app does. Returns when it serves, or has ended since another one does.
  func startService(_ arguments: String...) async throws {
    let run = try await ProgramRun.run(
      Programs.path("urlsessiond"), ["--spawn-detached"] + arguments, environment: environment)
    #expect(run.status == 0, "\(run.errors)")
  }

  /// Cuts the supervisor's pause short, as an app does that starts the service.
  func callForService() {
    let lock = open(path + "/run/urlsessiond/socket.supervisor", O_RDONLY | O_CLOEXEC)
    if lock >= 0 { close(lock) }
  }

  /// Kills it together with what watches over it: only an app can start it now.
  func killServiceForGood() async throws {
    try await service()
    // Together as one sees them: an app that lives may start the next service before the end of this one is seen.
    let doomed = processes().filter { $0.role != .other }
    for process in doomed where process.role == .supervisor { kill(process.pid, SIGKILL) }
    for process in doomed where process.role == .service { kill(process.pid, SIGKILL) }
    let ending = Set(doomed.map(\.pid))
    try await eventually("the end of the service") {
      !processes().contains { ending.contains($0.pid) } && !isServiceLockHeld()
    }
  }

  /// Everything at once, as when the machine loses its power.
  func killEverything() async throws {
    for process in processes() where process.role == .supervisor { kill(process.pid, SIGKILL) }
    for process in processes() { kill(process.pid, SIGKILL) }
    try await eventually("the end of everything") { processes().isEmpty && !isServiceLockHeld() }
  }

  /// A killed process whose first thread has ended can keep its files, and so its lock and its socket, until the disk has answered
  /// its other threads.
  private func isServiceLockHeld() -> Bool {
    let lock = open(stateFolder + "/lock", O_RDONLY | O_CLOEXEC)
    guard lock >= 0 else { return false }
    defer { close(lock) }
    return flock(lock, LOCK_EX | LOCK_NB) != 0
  }
}

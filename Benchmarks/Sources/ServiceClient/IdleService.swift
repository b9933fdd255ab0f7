import Foundation
import Harness

/// A service as the library starts it, with its supervisor, that has nothing to do.
struct IdleService {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let home = try ServiceHome(assignment)
    try home.startDetachedService()
    home.waitForAnswer()
    // A minute after a change the queue is copied; the start was one.
    try await Task.sleep(for: .seconds(70))
    let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
    let processes = ProcessFigures.all(marked: "XDG_RUNTIME_DIR=\(runtime)").sorted { $0.pid < $1.pid }
    // The supervisor has started the worker.
    guard processes.count == 2, let supervisor = processes.first, let worker = processes.last else {
      fail("\(processes.count) processes are there instead of a supervisor and its worker")
    }
    let sleeper = try RunningProgram(
      CommandLine.arguments[0], ["idle", "--mode", "sleep", "--url", assignment.url.absoluteString, "--bytes", "0"],
      log: home.folder + "/sleeper.log")
    try await Task.sleep(for: .seconds(2))
    let watched = processes + [ProcessFigures(pid: sleeper.pid)]
    let before = watched.map(\.voluntarySwitches)
    try await Task.sleep(for: .seconds(assignment.seconds))
    let wakeups = zip(watched, before).map { Double($0.voluntarySwitches - $1) }
    sleeper.kill()
    let figures = [
      "worker": Double(worker.residentBytes) / 1_048_576, "supervisor": Double(supervisor.residentBytes) / 1_048_576,
      "worker wake-ups": wakeups[1], "supervisor wake-ups": wakeups[0], "Dispatch wake-ups": wakeups[2],
    ]
    for process in processes { kill(process.pid, SIGTERM) }
    while processes.contains(where: { kill($0.pid, 0) == 0 }) { try await Task.sleep(for: .milliseconds(20)) }
    home.remove()
    report(figures: figures)
  }
  /// A program that has used Dispatch once, and does nothing more.
  static func sleep() -> Never {
    DispatchQueue.global().async {}
    while true { pause() }
  }
}

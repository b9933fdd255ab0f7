import Foundation
import Harness

/// How a service starts, and how much memory it has, with more tasks than one app may have: those of several.
struct QueueMemory {
  let assignment: Assignment
  private static let tasksPerApp = 20_000

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let home = try ServiceHome(assignment)
    let first = try home.startServing().service
    var remaining = assignment.count
    while remaining > 0 {
      let count = min(remaining, Self.tasksPerApp)
      // Another path is another app to the service.
      let app = "\(home.folder)/app-\(remaining)"
      try FileManager.default.copyItem(atPath: "/proc/self/exe".resolvingLinks, toPath: app)
      _ = try runApp(
        app,
        ["queue", "--mode", "enqueue", "--count", "\(count)", "--url", assignment.url.absoluteString, "--bytes", "0"])
      remaining -= count
    }
    first.end()
    let (second, time) = try home.startServing()
    // Whatever it does once it serves is over.
    try await Task.sleep(for: .seconds(2))
    let memory = ProcessFigures(pid: second.pid)
    let figures = ["start": time.inSeconds, "memory": Double(memory.residentBytes) / 1_048_576]
    let peak = memory.peakBytes
    second.end()
    home.remove()
    report(peakRSS: peak, figures: figures)
  }
}

extension String {
  fileprivate var resolvingLinks: String { URL(fileURLWithPath: self).resolvingSymlinksInPath().path }
}

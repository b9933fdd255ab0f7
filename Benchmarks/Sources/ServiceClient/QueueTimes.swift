import Foundation
import Harness

/// Many tasks in one session: handed over, there again after a restart of the service, listed and cancelled.
struct QueueTimes {
  let assignment: Assignment

  init(_ assignment: Assignment) { self.assignment = assignment }

  func run() async throws {
    let home = try ServiceHome(assignment)
    let app = CommandLine.arguments[0]
    func arguments(_ mode: String) -> [String] {
      [
        "queue", "--mode", mode, "--count", "\(assignment.count)", "--url", assignment.url.absoluteString, "--bytes",
        "0",
      ]
    }
    let first = try home.startServing().service
    var figures = try runApp(app, arguments("enqueue"))
    first.end()
    let (second, time) = try home.startServing()
    figures["start"] = time.inSeconds
    figures["list"] = try listTime(home)
    figures.merge(try runApp(app, arguments("cancel"))) { $1 }
    let peak = ProcessFigures(pid: second.pid).peakBytes
    second.end()
    home.remove()
    report(peakRSS: peak, figures: figures)
  }

  /// Seconds that `urlsession list --json` takes.
  private func listTime(_ home: ServiceHome) throws -> Double {
    struct List: Decodable {
      struct Transfer: Decodable {}
      var transfers: [Transfer]
    }
    let clock = ContinuousClock()
    let start = clock.now
    let answer = try RunningProgram(home.program("urlsession"), ["list", "--json"]).answer()
    let time = clock.now - start
    let count = try JSONDecoder().decode(List.self, from: answer).transfers.count
    guard count == assignment.count else { fail("\(count) transfers are listed instead of \(assignment.count)") }
    return time.inSeconds
  }
}

import Foundation
import Harness

/// A program that is started, loads one small file, and ends, again and again.
struct ProgramStarts {
  let assignment: Assignment
  let program: String

  init(_ assignment: Assignment, program: String) {
    self.assignment = assignment
    self.program = program
  }

  /// Reports the median time from the start to the end in milliseconds.
  func run() throws -> Never {
    let (path, arguments) = command
    let clock = ContinuousClock()
    // The first ones bring the program's pages into memory.
    for _ in 0..<3 { _ = try load(path, arguments) }
    let end = clock.now + .seconds(assignment.seconds)
    var times: [Duration] = []
    while clock.now < end { times.append(try clock.measure { try load(path, arguments) }) }
    guard !times.isEmpty else { fail("\(path) takes longer than the time for all") }
    report(figures: ["start": times.sorted()[times.count / 2].inSeconds * 1e3])
  }

  private var command: (path: String, arguments: [String]) {
    let url = assignment.url.absoluteString
    switch program {
    case "urlsession": return ("\(assignment.programs)/urlsession", ["get", "--quiet", url])
    case "curl": return ("/usr/bin/curl", ["--silent", "--show-error", "--fail", url])
    default: fail("what is \(program)?")
    }
  }

  private func load(_ path: String, _ arguments: [String]) throws {
    let body = try RunningProgram(path, arguments).answer()
    guard body.count == assignment.bytes else { fail("\(body.count) bytes instead of \(assignment.bytes)") }
  }
}

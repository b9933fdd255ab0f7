import Foundation
import Harness

/// A program that this one has started.
final class RunningProgram {
  private let process = Process()
  private let output = Pipe()
  private let name: String

  /// - Parameter log: The file for standard output and standard error; nil: what it says is read by `answer`.
  init(_ program: String, _ arguments: [String], log: String? = nil) throws {
    name = "\(program) \(arguments.joined(separator: " "))"
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    if let log {
      guard FileManager.default.createFile(atPath: log, contents: nil), let file = FileHandle(forWritingAtPath: log)
      else { fail("\(log) can't be written") }
      process.standardOutput = file
      process.standardError = file
    } else {
      process.standardOutput = output
    }
    try process.run()
  }

  var pid: pid_t { process.processIdentifier }
  var isRunning: Bool { process.isRunning }

  func waitForSuccess() {
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      fail("\(name) ended with status \(process.terminationStatus)")
    }
  }

  /// All that it writes until it ends.
  func answer() -> Data {
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    waitForSuccess()
    return answer
  }

  /// Ends it, also where it inherited that signals are blocked, as the threads of Dispatch have them.
  func kill() {
    _ = Glibc.kill(pid, SIGKILL)
    process.waitUntilExit()
  }

  /// Asks it to end and waits until it has.
  func end() {
    process.terminate()
    process.waitUntilExit()
  }
}

/// This program again, as another app: what it measured, by name.
func runApp(_ program: String, _ arguments: [String]) throws -> [String: Double] {
  struct Answer: Decodable { var figures: [String: Double] }
  return try JSONDecoder().decode(Answer.self, from: RunningProgram(program, arguments).answer()).figures
}

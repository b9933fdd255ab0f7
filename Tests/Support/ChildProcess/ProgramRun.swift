import Foundation

/// A program that a test ran to its end, and what came of it.
package struct ProgramRun: Sendable {
  /// The exit status; the signal's number when one ended it.
  package let status: Int32
  package let output: String
  package let errors: String

  /// - Parameter program: a path.
  /// - Parameter environment: in addition to this process's own.
  /// - Parameter input: its standard input; at most what a pipe takes, 64 KiB.
  package static func run(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = ""
  ) async throws -> ProgramRun {
    try await withCheckedThrowingContinuation { continuation in
      // The wait must not keep a thread of Swift's tasks.
      Thread {
        continuation.resume(with: Result { try runNow(program, arguments, environment, input) })
      }.start()
    }
  }

  /// The same, blocking the thread: for a program that ends at once.
  static func runNow(
    _ program: String, _ arguments: [String], _ environment: [String: String] = [:], _ input: String = ""
  ) throws -> ProgramRun {
    let process = ChildProcess()
    let standardInput = Pipe()
    let output = Pipe()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = standardInput
    process.standardOutput = output
    process.standardError = errors
    // Before it runs: a pipe whose reader has ended raises a signal.
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let errorText = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return ProgramRun(status: process.terminationStatus, output: text, errors: errorText)
  }
}

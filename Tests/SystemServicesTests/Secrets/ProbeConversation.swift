import ChildProcess
import Foundation

/// `system-probe secrets` as a program that goes on while a test changes its world: a line to it, a line from it.
final class ProbeConversation: Sendable {
  struct Ended: Error {}

  private let process = ChildProcess()
  private let commands: FileHandle
  private let lines: FileHandle

  init(_ options: [String], environment: [String: String]) throws {
    let input = Pipe()
    let output = Pipe()
    commands = input.fileHandleForWriting
    lines = output.fileHandleForReading
    process.executableURL = URL(fileURLWithPath: BuiltProgram.path("system-probe"))
    process.arguments = ["secrets"] + options
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    _ = fcntl(commands.fileDescriptor, F_SETFD, FD_CLOEXEC)
    try process.run()
  }

  /// The probe's answer. One question at a time.
  func ask(_ line: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread { continuation.resume(with: Result { try self.askNow(line) }) }.start()
    }
  }

  private func askNow(_ line: String) throws -> String {
    try commands.write(contentsOf: Data((line + "\n").utf8))
    var answer: [UInt8] = []
    while true {
      guard let byte = try lines.read(upToCount: 1)?.first else { throw Ended() }
      if byte == UInt8(ascii: "\n") { return String(decoding: answer, as: UTF8.self) }
      answer.append(byte)
    }
  }

  /// Ends the conversation; returns the program's exit status.
  func end() async -> Int32 {
    try? commands.close()
    return await withCheckedContinuation { continuation in
      Thread {
        self.process.waitUntilExit()
        continuation.resume(returning: self.process.terminationReason == .exit ? self.process.terminationStatus : -1)
      }.start()
    }
  }
}

import ChildProcess
import Foundation

/// What a program printed and how it ended.
struct ProgramResult: Sendable {
  let status: Int32
  let output: [UInt8]
  let errors: String
  var text: String { String(decoding: output, as: UTF8.self) }
}

/// Runs a program without blocking a thread of the pool while it runs.
func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> ProgramResult {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let files = [folder.appendingPathComponent("output"), folder.appendingPathComponent("errors")]
  for file in files { try Data().write(to: file) }
  let process = ChildProcess()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [program] + arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = try FileHandle(forWritingTo: files[0])
  process.standardError = try FileHandle(forWritingTo: files[1])
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
    process.terminationHandler = { _ in continuation.resume() }
    do {
      try process.run()
    } catch {
      process.terminationHandler = nil
      continuation.resume(throwing: error)
    }
  }
  return ProgramResult(
    status: process.terminationStatus, output: Array(try Data(contentsOf: files[0])),
    errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self))
}

/// Runs curl, quietly, without its configuration file, proxies, or patience beyond a minute and a half.
func curl(_ arguments: String...) async throws -> ProgramResult {
  try await curl(arguments)
}

func curl(_ arguments: [String]) async throws -> ProgramResult {
  try await run("curl", ["-q", "-sS", "-g", "--noproxy", "*", "--max-time", "90"] + arguments)
}

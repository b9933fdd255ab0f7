import ChildProcess
import Foundation
import Testing

@Suite struct ProgramFileTests {
  /// Runs `body` with a folder while tasks start programs, one behind the other: each child has for a moment every
  /// descriptor of this process.
  private func whileProgramsStart(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "programs-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withThrowingTaskGroup { group in
      for _ in 0..<3 {
        group.addTask { while !Task.isCancelled { _ = try await ProgramRun.run("/bin/true") } }
      }
      try await body(folder)
      group.cancelAll()
      try await group.waitForAll()
    }
  }

  @Test func aCopiedProgramStartsWhileOthersStart() async throws {
    try await whileProgramsStart { folder in
      for number in 1...50 {
        let program = "\(folder)/\(number)"
        try ProgramFile.copy("/bin/echo", to: program)
        #expect(try await ProgramRun.run(program, ["\(number)"]).output == "\(number)\n")
      }
    }
  }

  @Test func aWrittenScriptStartsWhileOthersStart() async throws {
    try await whileProgramsStart { folder in
      for number in 1...50 {
        let program = "\(folder)/\(number)"
        try ProgramFile.write("#!/bin/sh\nprintf '%s\\n' \"$1\"\n", to: program)
        #expect(try await ProgramRun.run(program, ["\(number)"]).output == "\(number)\n")
      }
    }
  }

  @Test func theReasonIsToldWhyAProgramIsNotThere() {
    let copied = #expect(throws: ProgramFile.Failure.self) { try ProgramFile.copy("/bin/none", to: "/nowhere/none") }
    #expect(copied?.description.contains("/bin/none") == true, "\(copied?.description ?? "")")
    let written = #expect(throws: ProgramFile.Failure.self) { try ProgramFile.write("", to: "/nowhere/none") }
    #expect(written?.description.contains("/nowhere/none") == true, "\(written?.description ?? "")")
  }
}

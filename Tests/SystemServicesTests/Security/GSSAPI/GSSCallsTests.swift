import ChildProcess
import Testing

/// The exit of a process while another thread is in GSS-API, whose libraries must not be destroyed under it.
@Suite struct GSSCallsTests {
  private func output(_ call: String) async throws -> (lines: [Substring], status: Int32) {
    let run = try await ProgramRun.run(BuiltProgram.path("system-probe"), ["exit", "call=\(call)"])
    return (run.output.split(separator: "\n"), run.status)
  }

  @Test func theExitWaitsForTheCallAndLetsNoOtherBegin() async throws {
    let (lines, status) = try await output("returns")
    #expect(lines == ["returned", "destroyed"] && status == 0)
  }

  /// A server that never answers does not keep the process.
  @Test func theExitDoesNotWaitWithoutEnd() async throws {
    let (lines, status) = try await output("hangs")
    #expect(lines == ["destroyed"] && status == 0)
  }
}

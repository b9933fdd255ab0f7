import ChildProcess
import Foundation
import SystemServices
import Testing

@Suite struct ExecutedProgramTests {
  @Test(.timeLimit(.minutes(2))) func anUpdateReplacesTheProgramThatRuns() async throws {
    let folder = NSTemporaryDirectory() + "executed-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    let path = folder + "/program"
    try ProgramFile.copy("/bin/sleep", to: path)
    let pid = try DetachedProcess.start(path, arguments: ["600"], environment: [:])
    let program = try #require(ExecutedProgram(ofProcess: pid))
    #expect(program.path.hasSuffix("/program") && !program.isReplaced)
    #expect(unlink(path) == 0)
    #expect(!program.isReplaced, "no other program is there")
    try ProgramFile.copy("/bin/sleep", to: folder + "/next")
    #expect(rename(folder + "/next", path) == 0)
    #expect(program.isReplaced)
    // One that is asked for later says the same.
    #expect(ExecutedProgram(ofProcess: pid)?.isReplaced == true)
    chmod(path, 0o777)
    #expect(!program.isReplaced, "other users can have put it there")
    kill(pid, SIGKILL)
    await withCheckedContinuation { reaped in DetachedProcess.whenEnded(pid) { _ in reaped.resume() } }
    #expect(ExecutedProgram(ofProcess: pid) == nil)
  }
}

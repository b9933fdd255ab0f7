import Foundation
import SystemServices
import Testing

@Suite struct ProcessLimitsTests {
  private func limits(of pid: pid_t) throws -> (soft: String, hard: String) {
    let text = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    let fields = line.dropFirst("Max open files".count).split(separator: " ").map(String.init)
    try #require(fields.count >= 2)
    return (fields[0], fields[1])
  }

  @Test func aProcessThatIsStartedHasTheUsualLimitOfFiles() async throws {
    let pid = try DetachedProcess.start("/bin/sleep", arguments: ["600"], environment: [:])
    let before = try limits(of: pid)
    ProcessLimits.reset(for: pid)
    let after = try limits(of: pid)
    kill(pid, SIGKILL)
    await withCheckedContinuation { reaped in DetachedProcess.whenEnded(pid) { _ in reaped.resume() } }
    let usual = Int(after.hard).map { min($0, 1024) } ?? 1024
    #expect(after.soft == "\(usual)" && after.hard == before.hard)
  }
}

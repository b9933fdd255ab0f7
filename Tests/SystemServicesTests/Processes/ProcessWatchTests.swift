import Foundation
import SystemServices
import Testing

@Suite struct ProcessWatchTests {
  private func start() throws -> pid_t {
    try DetachedProcess.start("/bin/sleep", arguments: ["600"], environment: [:])
  }

  private func reap(_ pid: pid_t) async {
    await withCheckedContinuation { reaped in DetachedProcess.whenEnded(pid) { _ in reaped.resume() } }
  }

  @Test(.timeLimit(.minutes(2))) func theEndOfAProcessIsToldOnce() async throws {
    let pid = try start()
    let process = try #require(ProcessIdentity(pid: pid))
    let (ends, ended) = AsyncStream.makeStream(of: Void.self)
    let watch = try #require(ProcessWatch(process) { ended.yield() })
    kill(pid, SIGKILL)
    for await _ in ends { break }
    await reap(pid)
    #expect(ProcessWatch(process) {} == nil, "it has ended")
    withExtendedLifetime(watch) {}
  }

  @Test func aProcessWithTheNumberOfAnEarlierOneIsNotWatched() throws {
    let own = try #require(ProcessIdentity(pid: getpid()))
    #expect(ProcessWatch(ProcessIdentity(pid: own.pid, startTime: own.startTime + 1)) {} == nil)
  }

  @Test(.timeLimit(.minutes(2))) func aWatchThatIsReleasedTellsNothing() async throws {
    let pid = try start()
    let process = try #require(ProcessIdentity(pid: pid))
    let (ends, ended) = AsyncStream.makeStream(of: String.self)
    var released = ProcessWatch(process) { ended.yield("released") }
    let watch = ProcessWatch(process) { ended.yield("kept") }
    #expect(released != nil && watch != nil)
    released = nil
    kill(pid, SIGKILL)
    for await end in ends {
      #expect(end == "kept")
      break
    }
    await reap(pid)
    withExtendedLifetime(watch) {}
  }
}

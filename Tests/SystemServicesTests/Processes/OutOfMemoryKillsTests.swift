import Testing

@testable import SystemServices

@Suite struct OutOfMemoryKillsTests {
  @Test(
    arguments: [
      ("0::/user.slice/app.scope\n", "/sys/fs/cgroup/user.slice/app.scope/memory.events"),
      ("12:memory:/a\n0::/b\n", "/sys/fs/cgroup/b/memory.events"), ("12:memory:/a\n", nil), ("", nil),
    ] as [(String, String?)])
  func theGroupIsThatOfTheProcess(_ text: String, _ path: String?) {
    #expect(OutOfMemoryKills.path(ofGroup: text) == path)
  }

  @Test(
    arguments: [
      ("low 0\nhigh 0\nmax 4\noom 2\noom_kill 3\noom_group_kill 0\n", 3), ("oom 2\n", nil), ("oom_kill x\n", nil),
      ("oom_kill\n", nil), ("", nil),
    ] as [(String, Int?)])
  func theKillsAreCounted(_ text: String, _ count: Int?) { #expect(OutOfMemoryKills.count(in: text) == count) }
}

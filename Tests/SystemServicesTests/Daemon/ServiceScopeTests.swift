import SystemServices
import Testing

@Suite struct ServiceScopeTests {
  private static let manager = "0::/user.slice/user-1000.slice/user@1000.service"

  static let groups: [(cgroup: String, isNeeded: Bool)] = [
    (manager + "/app.slice/app-gnome-editor-4711.scope\n", true),
    (manager + "/app.slice/editor.service", true),
    (manager + "/app.slice/urlsessiond-12.scope", false),
    (manager + "/app.slice/urlsessiond.service", false),
    ("0::/user.slice/user-1000.slice/session-3.scope", false),
    ("12:pids:/user.slice\n" + manager + "/app.slice/a.scope", true),
    (manager, false), ("0::/", false), ("", false),
  ]

  @Test(arguments: groups) func aScopeIsNeededInTheUnitOfAnApp(cgroup: String, isNeeded: Bool) {
    #expect(ServiceScope.isNeeded(cgroup: cgroup) == isNeeded)
  }

  /// The values of a list follow its length, each with its name and type (busctl(1)).
  @Test func theRequestNamesTheProcess() {
    let arguments = ServiceScope.arguments(pid: 12)
    #expect(arguments.contains("urlsessiond-12.scope"))
    let properties = arguments.drop { $0 != "fail" }.dropFirst()
    #expect(
      Array(properties) == [
        "3", "Description", "s", "Background transfers of apps", "PIDs", "au", "1", "12", "CollectMode", "s",
        "inactive-or-failed", "0",
      ])
  }
}

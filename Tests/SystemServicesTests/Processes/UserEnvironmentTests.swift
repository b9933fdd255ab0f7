import Foundation
import Testing

@testable import SystemServices

@Suite struct UserEnvironmentTests {
  /// The variables of an app that starts the service, and how far they go.
  static let variables: [(name: String, reachesService: Bool, isRecorded: Bool)] = [
    ("HOME", true, true), ("PATH", true, true), ("LANG", true, true), ("LC_ALL", true, true),
    ("XDG_RUNTIME_DIR", true, true), ("XDG_STATE_HOME", true, true), ("DBUS_SESSION_BUS_ADDRESS", true, true),
    ("KRB5CCNAME", true, true), ("URLSESSIOND_SOCKET", true, true), ("URLSESSION_SECRETS_FILE", true, true),
    // An app's own trust goes with its session, not with the service.
    ("SSL_CERT_FILE", false, true), ("SSL_CERT_DIR", false, true),
    ("http_proxy", false, false), ("HTTPS_PROXY", false, false), ("all_proxy", false, false),
    ("LD_LIBRARY_PATH", false, false), ("LD_PRELOAD", false, false), ("GCONV_PATH", false, false),
    ("AWS_SECRET_ACCESS_KEY", false, false), ("REQUEST_METHOD", false, false), ("NOTIFY_SOCKET", false, false),
    ("LISTEN_FDS", false, false), ("WATCHDOG_USEC", false, false), ("JOURNAL_STREAM", false, false),
    ("XDG_A=B", false, false),
  ]

  @Test(arguments: variables)
  func onlyWhatNamesTheUserGoesOn(name: String, reachesService: Bool, isRecorded: Bool) {
    #expect((UserEnvironment.ofService([name: "x"])[name] != nil) == reachesService)
    #expect((UserEnvironment.ofApp([name: "x"])[name] != nil) == isRecorded)
  }

  @Test func aRecordHasNoLongValuesAndNoneThatAProgramCannotGet() {
    let values = [
      "LC_A": String(repeating: "a", count: 4096), "LC_B": String(repeating: "a", count: 4097), "LC_C": "a\0b",
    ]
    #expect(UserEnvironment.ofApp(values).keys.sorted() == ["LC_A"])
  }

  /// The values of the app that started the service are left out, also of those variables that the service may have.
  @Test func anEnvironmentForAnAppWithoutARecordIsTheUsers() throws {
    let clean = UserEnvironment.clean([
      "HOME": "/home/of/another/app", "PATH": "/its/programs", "LC_ALL": "tlh", "XDG_DATA_HOME": "/its/data",
      "XDG_RUNTIME_DIR": "/run/user/1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus",
    ])
    #expect(clean["PATH"] == "/usr/local/bin:/usr/bin:/bin" && clean["LC_ALL"] == nil && clean["XDG_DATA_HOME"] == nil)
    #expect(clean["XDG_RUNTIME_DIR"] == "/run/user/1" && clean["DBUS_SESSION_BUS_ADDRESS"] == "unix:path=/bus")
    let account = try #require(getpwuid(geteuid()))
    #expect(clean["HOME"] == String(cString: account.pointee.pw_dir))
    #expect(clean["USER"] == String(cString: account.pointee.pw_name))
  }

  @Test func aUserThatIsNotInTheDatabaseHasNoAccount() {
    #expect(UserAccount.variables(of: 4_123_456_789).isEmpty)
  }
}

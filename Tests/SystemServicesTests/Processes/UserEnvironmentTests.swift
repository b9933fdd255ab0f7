import Foundation
import Testing

@testable import SystemServices

@Suite struct UserEnvironmentTests {
  /// The variables of an app that starts the service, and how far they go.
  static let variables: [(name: String, reachesService: Bool, isRecorded: Bool)] = [
    ("HOME", true, true),
    // Choices of one app or of one terminal.
    ("PATH", false, true), ("LANG", false, true), ("LANGUAGE", false, true), ("LC_ALL", false, true),
    ("TZ", false, true),
    ("TMPDIR", false, true), ("KRB5CCNAME", false, true),
    ("XDG_RUNTIME_DIR", true, true), ("XDG_STATE_HOME", true, true), ("DBUS_SESSION_BUS_ADDRESS", true, true),
    ("URLSESSIOND_SOCKET", true, true), ("URLSESSION_SECRETS_FILE", true, true),
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
    #expect((UserEnvironment.ofService([name: "x"])[name] == "x") == reachesService)
    #expect((UserEnvironment.ofApp([name: "x"])[name] != nil) == isRecorded)
  }

  /// What a login begins with, whichever app starts the service.
  @Test func aServiceHasTheLanguageAndTheProgramsOfALogin() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("locale-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("locale").path
    try Data("# comment\nLC_TIME=C\nLANG=\"de_CH.UTF-8\"\n".utf8).write(to: URL(fileURLWithPath: file))
    let app = ["PATH": "/its/programs", "LANG": "tlh", "LC_ALL": "tlh", "HOME": "/home/u"]
    let expected = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "de_CH.UTF-8", "HOME": "/home/u"]
    let missing = folder.appendingPathComponent("none").path
    #expect(UserEnvironment.ofService(app, localeFiles: [missing, file]) == expected)
    #expect(UserEnvironment.ofService(app, localeFiles: [missing])["LANG"] == "C.UTF-8")
    // The supervisor passes on what it has.
    #expect(UserEnvironment.ofService(expected, localeFiles: [file]) == expected)
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

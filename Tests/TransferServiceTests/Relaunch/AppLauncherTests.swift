import ChildProcess
import Foundation
import LoopbackServer
import SystemServices
import Testing
import TransferService

@Suite struct AppLauncherTests {
  /// A program that writes down how it was started.
  private func program(in folder: TemporaryFolder) throws -> ExecutableIdentity {
    let path = folder.path + "/app"
    try ProgramFile.write("#!/bin/sh\n{ echo \"$# arguments\"; env; } > \(folder.path)/seen\n", to: path)
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return ExecutableIdentity(
      path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino), owner: status.st_uid)
  }

  /// Starts the program and returns the lines that it wrote.
  private func launch(
    _ launcher: AppLauncher, session: String = "s", with environment: [String: String]?
  ) async throws -> [String] {
    let folder = try TemporaryFolder()
    let executable = try program(in: folder)
    let ended = Gate()
    try launcher.launch(executable, session: session, environment: environment, isAwaited: { true }) { ended.open() }
    try await ended.wait(within: patience)
    return try String(contentsOfFile: folder.path + "/seen", encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test func startsTheAppWithItsSessionAndWhatItHasRecorded() async throws {
    // Of the service, which another app has started.
    let launcher = AppLauncher(environment: [
      "PATH": "/bin", "LANG": "C", "XDG_X": "another's", "LC_ALL": "tlh", "SECRET": "x", "NOTIFY_SOCKET": "/x",
      "SSL_CERT_FILE": "/another's.pem", "URLSESSIOND_CRASH_AT": "midBody",
    ])
    let seen = try await launch(
      launcher, session: "my session; rm -rf /",
      with: [
        "PATH": "/usr/bin:/bin", "LANG": "de", "XDG_X": "own", "LD_PRELOAD": "/own.so", "LD_LIBRARY_PATH": "/own",
        "SSL_CERT_DIR": "/own", "OTHER": "x",
      ])
    #expect(seen.first == "0 arguments")
    #expect(seen.contains("URLSESSION_LAUNCH_SESSION=my session; rm -rf /"))
    #expect(seen.contains("LANG=de") && seen.contains("XDG_X=own") && seen.contains("SSL_CERT_DIR=/own"))
    for name in [
      "SECRET", "NOTIFY_SOCKET", "URLSESSIOND_CRASH_AT", "SSL_CERT_FILE", "LC_ALL", "LD_PRELOAD", "LD_LIBRARY_PATH",
      "OTHER",
    ] {
      #expect(!seen.contains { $0.hasPrefix(name + "=") }, "\(name)")
    }
  }

  @Test func anAppThatHasRecordedNothingIsStartedWithACleanEnvironment() async throws {
    let launcher = AppLauncher(environment: [
      "PATH": "/usr/bin:/bin:/another's", "LC_ALL": "tlh", "XDG_DATA_HOME": "/another's",
      "SSL_CERT_FILE": "/another's.pem",
      "XDG_RUNTIME_DIR": "/run/user/1",
    ])
    let seen = try await launch(launcher, with: nil)
    #expect(seen.contains("XDG_RUNTIME_DIR=/run/user/1") && seen.contains("URLSESSION_LAUNCH_SESSION=s"))
    #expect(!seen.contains { $0.contains("another's") || $0.hasPrefix("LC_ALL=") }, "\(seen)")
  }

  @Test func anUpdatedProgramIsStarted() async throws {
    let folder = try TemporaryFolder()
    var executable = try program(in: folder)
    executable.inode += 1
    let ended = Gate()
    try AppLauncher(environment: [:]).launch(executable, session: "s", environment: nil, isAwaited: { true }) {
      ended.open()
    }
    try await ended.wait(within: patience)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/seen"))
  }

  @Test func aReplacedProgramIsNotStarted() throws {
    let folder = try TemporaryFolder()
    var executable = try program(in: folder)
    executable.inode += 1
    // Others could have put it there.
    chmod(folder.path, 0o777)
    #expect(throws: ExecutableIdentity.Change.replaced(executable.path)) {
      try AppLauncher(environment: [:]).launch(executable, session: "s", environment: nil, isAwaited: { true }) {}
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/seen"))
  }

  /// It took too long to look at it, and the service tries again later.
  @Test func aProgramWhoseStartIsNotAwaitedAnyMoreIsNotStarted() throws {
    let folder = try TemporaryFolder()
    let executable = try program(in: folder)
    #expect(throws: CancellationError.self) {
      try AppLauncher(environment: [:]).launch(executable, session: "s", environment: nil, isAwaited: { false }) {}
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/seen"))
  }
}
